//! What may be read ahead on which mount.
//!
//! On a device of this machine, everything. On what lies behind a network or a daemon, reading
//! ahead can cost more than it gains: most FUSE file systems empty a file's page cache at each
//! open, so that what was brought before the program opens the file is brought twice; some have one
//! stream for each open file, and requests out of order make it begin anew; and what is brought may
//! be paid for. So until such a mount has shown what it is, only names are looked up ahead there,
//! and of files that the program has open what it discloses itself, one request at a time at first
//! ([`foresee_manager::Event::Caution`]).
//!
//! One small file is read and opened again ([`probe`]). If its bytes are still near, small files
//! are brought ahead there, whole. If programs wait for what was brought nevertheless, as long as
//! for what was not, that ends.
//!
//! What was found is remembered with the mount ([`memory`]).

mod memory;
mod probe;
mod table;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use memory::Verdict;
use memory::{Memory, Remembered, mount_of};
use probe::{Finding, NEARER_MIN, PROBE_BYTES_MAX, probe};
pub use table::{Kind, Mount, Table};

use super::residency::BLOCK_BYTES;
use crate::names::Identity;

/// What small is: files up to this are brought whole. A few round trips' worth on most networks,
/// and what the kernel's own readahead brings at once.
pub const SMALL_FILE_BYTES: u64 = 256 << 10;
/// Files that may be asked until one says something, and that must say that nothing stays: a read
/// that was quick by chance is rare, one that was slow because much else was asked for is not.
const PROBES_MAX: u32 = 8;
const REFUSALS: u32 = 3;
/// Files that must say that the daemon has the bytes itself: it is by their times that they say it.
const NEARER: u32 = 2;
/// Reads of what was brought, after which it is seen whether that pays, and how many of them may
/// have waited.
const READS: u32 = 32;
const WAITED_MAX: u32 = READS / 4;

/// A directory is listed so quickly, and so much an entry, by a daemon that has its entries; a
/// network is slower. So many directories that are not say that the mount does not keep them: one
/// may have been slow because much else was asked for.
const LISTING_NEAR: Duration = Duration::from_millis(2);
const LISTING_NEAR_ENTRY: Duration = Duration::from_micros(10);
const LISTED_ANEW: u32 = 2;
const ENTRIES_MAX: usize = 1 << 20;

/// What may be done on a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    /// Everything.
    Free,
    /// Nothing: there is nothing to bring.
    Nothing,
    /// Names, and small files, whole.
    SmallFiles,
    /// Names. Files are not opened.
    Names,
    /// As `Names`, until a file that is asked says more.
    Undecided,
}

impl Conduct {
    /// Whether files may be opened that the program has not open.
    pub fn opens(self) -> bool {
        matches!(self, Conduct::Free | Conduct::SmallFiles)
    }

    /// Blocks of the longest file that is brought ahead though its reader said nothing of it; None
    /// if any is.
    pub fn file_blocks_max(self) -> Option<u64> {
        match self {
            Conduct::Free => None,
            Conduct::SmallFiles => Some(SMALL_FILE_BYTES / BLOCK_BYTES),
            Conduct::Nothing | Conduct::Names | Conduct::Undecided => Some(0),
        }
    }
}

struct Known {
    mount: Mount,
    finding: Option<Finding>,
    /// How long a read takes of what is not near, if that is known.
    far: Option<Duration>,
    /// Files that said that nothing stays, and that the daemon has the bytes.
    refusals: u32,
    nearer: u32,
    /// Files asked so far, and whether one is being asked.
    probes: u32,
    is_probing: bool,
    /// Reads of what was brought ahead, and those that waited.
    reads: u32,
    waited: u32,
    /// What was brought was waited for: it is not done any more.
    stopped: bool,
    /// Whether a directory that was listed is listed anew without asking whoever has it; and
    /// directories that said that it is not.
    keeps_listings: Option<bool>,
    listed_anew: u32,
    /// What an earlier run found out, or what the kernel knows the mount by.
    remembered: Option<Remembered>,
    number: Option<u64>,
}

impl Known {
    fn new(mount: Mount) -> Self {
        Known {
            mount,
            finding: None,
            far: None,
            refusals: 0,
            nearer: 0,
            probes: 0,
            is_probing: false,
            reads: 0,
            waited: 0,
            stopped: false,
            keeps_listings: None,
            listed_anew: 0,
            remembered: None,
            number: None,
        }
    }

    /// What was found out of it, if it is foreign, and decided.
    fn verdict(&self) -> Option<Verdict> {
        match (self.conduct(), self.finding) {
            (Conduct::Names, _) if self.stopped => Some(Verdict::DidNotPay),
            (Conduct::Names, Some(Finding::Nothing)) => Some(Verdict::NothingStays),
            (Conduct::Names, Some(Finding::Unclear)) => Some(Verdict::Quick),
            (Conduct::SmallFiles, Some(Finding::PagesStay)) => Some(Verdict::PagesStay),
            (Conduct::SmallFiles, _) => Some(Verdict::DaemonKeeps),
            _ => None,
        }
    }

    fn recall(&mut self, remembered: Remembered) {
        let finding = match remembered.verdict {
            Verdict::PagesStay => Finding::PagesStay,
            Verdict::DaemonKeeps | Verdict::DidNotPay => Finding::DaemonKeeps,
            Verdict::NothingStays => Finding::Nothing,
            Verdict::Quick => Finding::Unclear,
        };
        (self.finding, self.far, self.remembered) = (Some(finding), remembered.far, Some(remembered));
        (self.refusals, self.nearer, self.probes) = (REFUSALS, NEARER, PROBES_MAX);
        self.stopped = remembered.verdict == Verdict::DidNotPay;
    }

    fn conduct(&self) -> Conduct {
        match (self.mount.kind, self.finding) {
            (Kind::Local | Kind::Overlay, _) => Conduct::Free,
            (Kind::Memory, _) => Conduct::Nothing,
            (Kind::Foreign, _) if self.stopped => Conduct::Names,
            (Kind::Foreign, Some(Finding::PagesStay)) => Conduct::SmallFiles,
            (Kind::Foreign, Some(Finding::DaemonKeeps)) if self.nearer >= NEARER => Conduct::SmallFiles,
            (Kind::Foreign, _) if self.refusals < REFUSALS && self.probes < PROBES_MAX => Conduct::Undecided,
            (Kind::Foreign, _) => Conduct::Names,
        }
    }
}

/// What was found out of a foreign mount, for the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountAccount {
    /// Where it is mounted.
    pub point: String,
    /// The type of its file system.
    pub file_system: String,
    /// What was found out, and what was therefore left alone, in words.
    pub found: &'static str,
    /// The same, as a word.
    pub word: &'static str,
    /// It was an earlier run that found it out.
    pub remembered: bool,
}

/// What a mount said that was asked through one of its files.
#[derive(Debug, Default)]
pub struct Answer {
    /// What the kernel knows the mount by, if that is needed and told.
    number: Option<u64>,
    /// An earlier run asked already,
    remembered: Option<Remembered>,
    /// or else this was found, and how long a read takes of what is not near; None if the file
    /// could not be read.
    found: Option<(Finding, Duration)>,
}

/// Asks a mount through this file of it, unless an earlier run did.
pub fn ask(memory: Option<&Memory>, path: &Path, identity: Identity) -> Answer {
    let number = memory.and_then(|_| mount_of(path, identity.0));
    let remembered = memory.zip(number).and_then(|(memory, number)| memory.recall(number));
    let found = if remembered.is_none() { probe(path, identity).ok() } else { None };
    Answer { number, remembered, found }
}

/// What is known of the mounts that files were met on.
#[derive(Default)]
pub struct Mounts {
    table: Table,
    of_dev: HashMap<u64, Known>,
    memory: Option<Arc<Memory>>,
}

impl Mounts {
    /// None met yet; what is found out of them is kept in this directory, if any.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Mounts { memory: directory.and_then(Memory::at).map(Arc::new), ..Mounts::default() }
    }

    /// What earlier runs found out.
    pub fn memory(&self) -> Option<Arc<Memory>> {
        self.memory.clone()
    }

    /// Keeps what this run found out for later ones.
    pub fn remember(&self) {
        let found = |known: &Known| {
            let (number, verdict) = (known.number?, known.verdict()?);
            let is_new = known.remembered.is_none_or(|it| it.verdict != verdict);
            is_new.then(|| Remembered::now(number, verdict, known.far))
        };
        let found: Vec<Remembered> = self.of_dev.values().filter_map(found).collect();
        if let Some(memory) = self.memory.as_ref().filter(|_| !found.is_empty()) {
            memory.keep(&found);
        }
    }

    fn known(&mut self, dev: u64, path: &Path) -> &mut Known {
        let table = &mut self.table;
        self.of_dev.entry(dev).or_insert_with(|| {
            // Not met before: mounted since, perhaps.
            *table = Table::read();
            Known::new(table.of(dev, path).cloned().unwrap_or_else(|| Mount::unknown(dev)))
        })
    }

    /// What kind of mount files of this device number lie on, of which this is one.
    pub fn kind(&mut self, dev: u64, path: &Path) -> Kind {
        self.known(dev, path).mount.kind
    }

    /// What may be done there.
    pub fn conduct(&mut self, dev: u64, path: &Path) -> Conduct {
        self.known(dev, path).conduct()
    }

    /// Whether a file of so many bytes is to be asked now. If so, [`Mounts::answered`] is awaited.
    pub fn begin_probe(&mut self, dev: u64, bytes: u64) -> bool {
        let Some(known) = self.of_dev.get_mut(&dev) else { return false };
        let begins =
            known.conduct() == Conduct::Undecided && !known.is_probing && (1..=PROBE_BYTES_MAX).contains(&bytes);
        known.is_probing |= begins;
        begins
    }

    /// What the mount said that was asked.
    pub fn answered(&mut self, dev: u64, answer: &Answer) {
        let Some(known) = self.of_dev.get_mut(&dev) else { return };
        known.is_probing = false;
        known.number = answer.number;
        if let Some(remembered) = answer.remembered {
            return known.recall(remembered);
        }
        known.probes += 1;
        if let Some((finding, far)) = answer.found {
            known.finding = Some(finding);
            known.far = (finding != Finding::Unclear).then_some(far);
            known.refusals += u32::from(finding == Finding::Nothing);
            known.nearer += u32::from(finding == Finding::DaemonKeeps);
        }
    }

    /// Whether a read of what had been brought ahead there took as long as one of what had not;
    /// `waited` says what is known where the latter is not.
    pub fn is_far(&self, dev: u64, took: Duration, waited: bool) -> bool {
        let far = self.of_dev.get(&dev).and_then(|known| known.far);
        waited && far.is_none_or(|far| took * NEARER_MIN > far)
    }

    /// A program read what had been brought ahead, and it was far nevertheless or not. Returns
    /// whether something else may be done there now.
    pub fn read(&mut self, dev: u64, waited: bool) -> bool {
        let Some(known) = self.of_dev.get_mut(&dev).filter(|known| known.conduct() == Conduct::SmallFiles) else {
            return false;
        };
        known.reads += 1;
        known.waited += u32::from(waited);
        known.stopped = known.waited > WAITED_MAX;
        if known.reads < READS && !known.stopped {
            return false;
        }
        (known.reads, known.waited) = (0, 0);
        known.stopped
    }

    /// Whether a program that lists a directory there after us has it from nearby; None if that is
    /// to be found out.
    pub fn keeps_listings(&mut self, dev: u64, path: &Path) -> Option<bool> {
        let known = self.known(dev, path);
        if known.mount.kind == Kind::Foreign { known.keeps_listings } else { Some(true) }
    }

    /// A directory of so many entries was listed there twice; the second time it took so long.
    pub fn listed(&mut self, dev: u64, entries: usize, took: Duration) {
        let Some(known) = self.of_dev.get_mut(&dev) else { return };
        let is_near = took < LISTING_NEAR + LISTING_NEAR_ENTRY * entries.min(ENTRIES_MAX) as u32;
        known.listed_anew += u32::from(!is_near);
        if is_near || known.listed_anew >= LISTED_ANEW {
            known.keeps_listings = Some(is_near);
        }
    }

    /// The foreign mounts that were met.
    pub fn accounts(&self) -> Vec<MountAccount> {
        let foreign = self.of_dev.values().filter(|known| known.mount.kind == Kind::Foreign);
        let mut accounts: Vec<MountAccount> = foreign
            .map(|known| {
                let verdict = known.verdict();
                let found = match verdict {
                    Some(Verdict::PagesStay) => "pages stay when a file is opened; small files whole",
                    Some(Verdict::DaemonKeeps) => "what was read once is near; small files whole",
                    Some(Verdict::NothingStays) => "each open reads anew; only names looked up ahead",
                    Some(Verdict::Quick) => "quick by itself; only names looked up ahead",
                    Some(Verdict::DidNotPay) => "programs waited for what was brought ahead; only names since then",
                    None if known.keeps_listings == Some(false) => {
                        "directories listed anew each time; only names looked up"
                    }
                    None => "nothing known; only names looked up ahead",
                };
                let word = verdict.map_or("unknown", Verdict::word);
                MountAccount {
                    point: known.mount.point.to_string_lossy().into_owned(),
                    file_system: known.mount.file_system.clone(),
                    found,
                    word,
                    remembered: known.remembered.is_some(),
                }
            })
            .collect();
        accounts.sort_by(|a, b| a.point.cmp(&b.point));
        accounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: u64 = 7;
    const FAR: Duration = Duration::from_millis(20);

    fn foreign() -> Mounts {
        let mut mounts = Mounts::default();
        let mount = Mount { file_system: "fuse.test".into(), ..Mount::unknown(DEV) };
        mounts.of_dev.insert(DEV, Known::new(mount));
        mounts
    }

    fn conduct(mounts: &mut Mounts) -> Conduct {
        mounts.conduct(DEV, Path::new("/remote/file"))
    }

    fn found(finding: Finding, far: Duration) -> Answer {
        Answer { number: Some(1), found: Some((finding, far)), ..Answer::default() }
    }

    #[test]
    fn a_foreign_mount_is_asked_before_anything_is_opened() {
        let mut mounts = foreign();
        assert_eq!(conduct(&mut mounts), Conduct::Undecided);
        assert!(!conduct(&mut mounts).opens());
        assert!(!mounts.begin_probe(DEV, 1 << 20), "too large to be asked");
        assert!(mounts.begin_probe(DEV, 4096));
        assert!(!mounts.begin_probe(DEV, 4096), "one at a time");
        mounts.answered(DEV, &found(Finding::Nothing, FAR));
        assert_eq!(conduct(&mut mounts), Conduct::Undecided, "it may have been busy");
        assert!(mounts.begin_probe(DEV, 4096));
        mounts.answered(DEV, &found(Finding::PagesStay, FAR));
        assert_eq!(conduct(&mut mounts), Conduct::SmallFiles);
    }

    #[test]
    fn where_nothing_stays_only_names_are_looked_up() {
        let mut mounts = foreign();
        for _ in 0..REFUSALS {
            assert!(mounts.begin_probe(DEV, 4096));
            mounts.answered(DEV, &found(Finding::Nothing, FAR));
        }
        assert_eq!(conduct(&mut mounts), Conduct::Names);
        assert_eq!(mounts.accounts()[0].word, "nothing-stays");
    }

    #[test]
    fn one_that_says_nothing_is_asked_no_more_than_some_times() {
        let mut mounts = foreign();
        for _ in 0..PROBES_MAX {
            assert!(mounts.begin_probe(DEV, 4096));
            mounts.answered(DEV, &found(Finding::Unclear, Duration::ZERO));
        }
        assert_eq!(conduct(&mut mounts), Conduct::Names);
        assert!(!mounts.begin_probe(DEV, 4096));
        assert_eq!(mounts.accounts()[0].word, "quick");
    }

    #[test]
    fn what_is_waited_for_nevertheless_is_not_brought_any_more() {
        let mut mounts = foreign();
        mounts.begin_probe(DEV, 4096);
        mounts.answered(DEV, &found(Finding::DaemonKeeps, FAR));
        assert_eq!(conduct(&mut mounts), Conduct::Undecided, "one may have been slow for another reason");
        mounts.begin_probe(DEV, 4096);
        mounts.answered(DEV, &found(Finding::DaemonKeeps, FAR));
        assert!(mounts.is_far(DEV, FAR, true) && !mounts.is_far(DEV, FAR / 10, true));
        let stops = (0..2 * READS).filter(|read| mounts.read(DEV, read % 8 == 0)).count();
        assert_eq!((stops, conduct(&mut mounts)), (0, Conduct::SmallFiles));
        let stops = (0..WAITED_MAX + 1).filter(|_| mounts.read(DEV, true)).count();
        assert_eq!((stops, conduct(&mut mounts)), (1, Conduct::Names));
        assert_eq!(mounts.accounts()[0].word, "did-not-pay");
    }

    #[test]
    fn what_was_decided_is_so_in_the_next_run() {
        let findings = [Finding::PagesStay, Finding::DaemonKeeps, Finding::Nothing, Finding::Unclear];
        for (finding, stops) in findings.map(|it| (it, false)).into_iter().chain([(Finding::PagesStay, true)]) {
            let mut mounts = foreign();
            while mounts.begin_probe(DEV, 4096) {
                mounts.answered(DEV, &found(finding, FAR));
            }
            while stops && !mounts.read(DEV, true) {}
            let known = &mounts.of_dev[&DEV];
            let remembered = Remembered::now(1, known.verdict().unwrap(), known.far);
            let mut later = foreign();
            later.begin_probe(DEV, 4096);
            later.answered(DEV, &Answer { remembered: Some(remembered), ..Answer::default() });
            assert_eq!(conduct(&mut later), conduct(&mut mounts));
            let (now, then) = (&later.accounts()[0], &mounts.accounts()[0]);
            assert_eq!((now.word, now.remembered, then.remembered), (then.word, true, false));
        }
    }

    #[test]
    fn whether_listings_are_kept_is_found_out_of_foreign_mounts() {
        let mut mounts = foreign();
        let path = Path::new("/remote/directory");
        assert_eq!(mounts.keeps_listings(DEV, path), None);
        mounts.listed(DEV, 10, FAR);
        assert_eq!(mounts.keeps_listings(DEV, path), None, "it may have been busy");
        mounts.listed(DEV, 10, FAR);
        assert_eq!(mounts.keeps_listings(DEV, path), Some(false));
        let mut mounts = foreign();
        assert_eq!(mounts.keeps_listings(DEV, path), None);
        mounts.listed(DEV, 1000, FAR / 2);
        assert_eq!(mounts.keeps_listings(DEV, path), Some(true));
    }

    #[test]
    fn this_machines_own_files_are_free() {
        use std::os::unix::fs::MetadataExt;
        let dev = std::fs::metadata("/proc/self/status").unwrap().dev();
        assert_eq!(Mounts::default().conduct(dev, Path::new("/proc/self/status")), Conduct::Nothing);
    }
}
