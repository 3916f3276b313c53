//! What programs say they will read, through the hint library.

use foresee_manager::{Event, ReaderId, Source, Want};

use super::{FILE_BYTES_MAX, Supervisor};
use crate::host::blocks;
use crate::source::ring::Disclosure;

impl Supervisor<'_> {
    pub(super) fn take_disclosure(&mut self, reader: ReaderId, disclosure: Disclosure) {
        match disclosure {
            Disclosure::Hint { file, whole } => {
                self.forget_words();
                self.library.hint(reader, file);
                if whole {
                    self.disclose(reader, Want::All);
                }
            }
            Disclosure::Segments(segments) => {
                for (offset, bytes) in segments {
                    if let Some((first, count)) = blocks(offset, bytes.min(FILE_BYTES_MAX.saturating_sub(offset))) {
                        self.disclose(reader, Want::Range { first, count });
                    }
                }
            }
            Disclosure::Repeat { hints, passes } => {
                let entries = self.library.disclosures(reader, hints);
                let passes = if passes == 0 { u64::MAX } else { passes };
                self.tell(Event::Repeat { reader, source: Source::Library, entries, passes });
            }
            Disclosure::Cancel => {
                if self.library.withdraw(reader) {
                    self.tell(Event::Cancel { reader, source: Source::Library });
                }
            }
        }
    }

    fn disclose(&mut self, reader: ReaderId, want: Want) {
        if let Some(file) = self.library.disclose(reader) {
            self.tell(Event::Hint { reader, source: Source::Library, file, want });
            self.check_again(file, want);
        }
    }
}
