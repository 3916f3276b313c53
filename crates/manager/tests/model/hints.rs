//! What readers disclosed, and how far they have come in it.

use super::*;

impl Model {
    pub fn named_file(&mut self, file: FileId, name: Name) {
        self.names.insert(file, name);
        for (_, sequence) in &mut self.sequences {
            sequence.hints.iter_mut().filter(|hint| hint.file == file).for_each(|hint| hint.asked = false);
        }
    }

    pub fn hint(&mut self, reader: ReaderId, source: Source, file: FileId, want: Want) {
        let key = (reader, source);
        if !self.sequences.iter().any(|(other, _)| *other == key) {
            self.sequences.push((key, Sequence::default()));
        }
        let (_, sequence) = self.sequences.iter_mut().find(|(other, _)| *other == key).expect("made above");
        let order = self.hints_ever;
        self.hints_ever += 1;
        let (looked_at, read, done, asked, walked, behind) = (0, 0, false, false, false, false);
        sequence.hints.push(Hint { order, file, want, looked_at, read, done, asked, walked, behind });
    }

    pub fn span(hint: &Hint, names: &BTreeMap<FileId, Name>) -> Span {
        match (names.get(&hint.file).unwrap_or(&Name::Asked), hint.want) {
            (Name::Asked, Want::Range { first, count }) => Some((first, count)),
            (Name::Asked, _) => None,
            (_, Want::Name) | (Name::Missing, _) => Some((0, 0)),
            (Name::Here(blocks), Want::All) => Some((0, *blocks)),
            (Name::Here(blocks), Want::Range { first, count }) => {
                Some((first, count.min(blocks.saturating_sub(first))))
            }
        }
    }

    pub fn read_hints(&mut self, reader: ReaderId, file: FileId, first: u64, count: u64) {
        let end = first + count;
        for at in 0..self.sequences.len() {
            let mut index = first;
            while index < end {
                if self.is_of_several(reader, at, file, index) {
                    index += 1;
                    continue;
                }
                let blocks = self.consume(reader, at, |hint, span| {
                    let (from, len) = span?;
                    let near = index <= from + hint.read.max(hint.looked_at) + JUMP_BLOCKS_MAX;
                    let fits = hint.file == file && index >= from + hint.read && index < from + len && near;
                    let blocks = fits.then(|| (end - index).min(from + len - index))?;
                    hint.read = index + blocks - from;
                    Some(blocks)
                });
                index += blocks.max(1);
            }
        }
    }

    /// Whether a block was passed over of late, unless the cursor is at it now: it is read by another
    /// thread.
    fn is_of_several(&mut self, reader: ReaderId, at: usize, file: FileId, index: u64) -> bool {
        let (names, (key, sequence)) = (&self.names, &mut self.sequences[at]);
        let is_now = sequence.hints.first().is_some_and(|hint| {
            let span = Self::span(hint, names).filter(|_| hint.file == file);
            span.is_some_and(|(from, len)| {
                let near = from + hint.read.max(hint.looked_at) + JUMP_BLOCKS_MAX;
                (from + hint.read..from + len).contains(&index) && index <= near
            })
        });
        let base = sequence.gone;
        let holds = |it: &(u64, FileId, u64, u64)| {
            it.0 + JUMP_ENTRIES_MAX >= base && it.1 == file && (it.2..it.3).contains(&index)
        };
        let is_behind = key.0 == reader && !is_now && sequence.behind.iter().any(holds);
        if is_behind {
            sequence.behind.clear();
            sequence.lanes[0].several = true;
        }
        is_behind
    }

    /// The first hint of a reader's sequences that `fits` came true: by how many of these blocks.
    pub fn consume(&mut self, reader: ReaderId, at: usize, fits: impl Fn(&mut Hint, Span) -> Option<u64>) -> u64 {
        let (names, mut consumed) = (&self.names, 0);
        let (key, sequence) = &mut self.sequences[at];
        if key.0 != reader {
            return 0;
        }
        let mut hit = |hint: &mut Hint| {
            consumed = if hint.done { None } else { fits(hint, Self::span(hint, names)) }.unwrap_or(0);
            consumed > 0
        };
        let Some(at) = sequence.hints.iter_mut().position(&mut hit) else { return consumed };
        sequence.consumed += consumed;
        let complete = Self::span(&sequence.hints[at], names).is_none_or(|(_, len)| sequence.hints[at].read >= len);
        if matches!(key.1, Source::Related | Source::Unordered) {
            // In no order: nothing is passed over.
            sequence.hints[at].done |= complete;
            sequence.trim();
            return consumed;
        }
        let together = key.1 == Source::Profile;
        let lane_of = |hint: &Hint| usize::from(together && hint.want == Want::Name);
        let (place, of_lane) = (at as u64 + sequence.gone, lane_of(&sequence.hints[at]));
        let lane = &mut sequence.lanes[of_lane];
        let foremost = lane.came_true.iter().copied().max().unwrap_or(0).max(sequence.gone);
        sequence.hints[at].done |= complete;
        if place <= foremost + JUMP_ENTRIES_MAX {
            lane.far_run = 0;
        } else {
            let follows = lane.far.is_some_and(|far| place > far && place - far <= JUMP_ENTRIES_MAX);
            if lane.far.replace(place) != Some(place) {
                lane.far_run = if follows { lane.far_run + 1 } else { 0 };
            }
            if lane.far_run < JUMP_ENTRIES_MAX {
                return consumed;
            }
            lane.came_true.clear();
        }
        lane.came_true.push(place);
        let several = together || lane.several;
        let last = if several { TOGETHER } else { 1 };
        let Some(from) = lane.came_true.len().checked_sub(last) else { return consumed };
        let cursor = lane.came_true[from..].iter().copied().min().expect("there is one at least");
        lane.came_true.drain(..from);
        let gone = sequence.gone;
        let hints = (gone..).zip(&mut sequence.hints).take(cursor.saturating_sub(gone) as usize);
        for (place, hint) in hints.filter(|(_, hint)| !hint.done && lane_of(hint) == of_lane) {
            hint.done = true;
            let is_here = matches!(names.get(&hint.file), Some(Name::Here(_)));
            let (first, len) = Self::span(hint, names).filter(|_| is_here).unwrap_or((0, 0));
            if !several {
                let (from, end) = (first + hint.read, first + len);
                sequence.behind.push((place, hint.file, from, end.min(from + JUMP_BLOCKS_MAX)));
            }
            sequence.skipped += if hint.want == Want::Name { 1 } else { len.saturating_sub(hint.read) };
            for index in first + hint.read..(first + hint.looked_at).max(first + hint.read) {
                let block = Block { file: hint.file, index };
                if let Some(cell) = self.cells.get_mut(&block).filter(|cell| cell.unread == Some(*key)) {
                    cell.passed = true;
                }
            }
        }
        sequence.trim();
        consumed
    }

    pub fn cancel(&mut self, ends: impl Fn((ReaderId, Source)) -> bool) {
        let of_it: Vec<Block> =
            self.cells.iter().filter(|(_, it)| it.unread.is_some_and(&ends)).map(|it| *it.0).collect();
        for block in of_it {
            let class = self.cells[&block].class;
            match self.cells[&block].phase {
                Phase::Queued => self.withdraw(block),
                phase => {
                    self.settle(block, |it| it.wasted += 1, false);
                    // It is still the device's; it counts as unread until it comes.
                    self.cell(block).class = class.filter(|_| phase == Phase::InFlight);
                }
            }
        }
        for (_, sequence) in self.sequences.iter_mut().filter(|(key, _)| ends(*key)) {
            sequence.gone += sequence.hints.len() as u64;
            sequence.hints.clear();
            sequence.lanes = Default::default();
            sequence.behind.clear();
        }
    }
}
