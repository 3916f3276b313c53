//! What earlier runs read. What comes soon is disclosed as the run goes on, and the rest, little by
//! little, as soon as something had to be brought from a device: of what lies in memory anyway,
//! nothing need be known.
//!
//! What most runs of the same command read comes in their order (source `profile`). What only some
//! read, and what runs of other commands read, may come in any order, or not at all (`related`). So
//! may all of it where a run turns out to go another way.
//!
//! Programs that do not wait for a device tell nothing (see [`super::quiet`]), and where they are
//! in the recorded run is not known. Then what is left of it is withdrawn, and disclosed again from
//! the file on with which they are heard of again; of a recording in no order what lies before that
//! file comes last. So it is where reading ahead is suspended.

use std::ffi::OsStr;
use std::hash::BuildHasher;

use foldhash::HashMap;
use foresee_manager::{Block, Demand, Event, FileId, Source, Want};

use super::{RUN, Supervisor, WALK_AHEAD_MAX};
use crate::profile::{Done, Earlier, Findings, Profile, Step};

/// Blocks that are looked back at to see whether a run goes in the recorded order: so many are what
/// one jump passes over.
const JUDGED_BLOCKS: u64 = 128;
/// Where several read in the recorded order, one of them may be far ahead for the length of a file; so
/// much is read where a reader is even so.
const IN_PLACE_MIN: f64 = 0.4;
/// Of what does not come soon so much is disclosed in one turn of the supervisor, which is at most
/// every half a millisecond: programs must not get ahead of us meanwhile, and where reading ahead
/// does not pay, it need not be known at all. 60,000 steps take half a second so.
const FAR_A_TURN: usize = 64;

/// What earlier runs read, and how far it is disclosed.
#[derive(Default)]
pub(super) struct Recorded {
    earlier: Earlier,
    /// Nothing comes in the order in which it was recorded.
    is_unordered: bool,
    /// What had been read by then, and is not disclosed anew.
    done: Done,
    /// Blocks that came true in that order, and that were passed over, when that was last judged.
    judged: (u64, u64),
    /// What of these files was read in the recorded run, in no order that is known: through
    /// mappings, or seen from outside.
    mapped: HashMap<FileId, Vec<(u64, u64)>>,
    /// The step that was disclosed first, and how many were since.
    begun: usize,
    disclosed: usize,
    /// What had been brought from devices when disclosing last began.
    brought: u64,
    /// What was disclosed is withdrawn, and it is not known yet where programs are.
    is_withdrawn: bool,
    /// What programs named or read last, as far as they told.
    last: Option<FileId>,
    /// Made when it is first asked for.
    places: Option<Places>,
}

/// Where the recorded run first read each of its files: by the hash of its path, its number in the
/// profile and the step.
struct Places(HashMap<u64, (u32, u32)>);

impl Places {
    fn of(profile: &Profile) -> Self {
        let mut places = HashMap::with_capacity_and_hasher(profile.files.len(), Default::default());
        for (at, step) in profile.steps.iter().enumerate() {
            let hash = places.hasher().hash_one(profile.files[step.file].as_os_str());
            places.entry(hash).or_insert((step.file, at as u32));
        }
        Places(places)
    }

    fn find(&self, profile: &Profile, path: &OsStr) -> Option<usize> {
        let &(file, at) = self.0.get(&self.0.hasher().hash_one(path))?;
        (profile.files[file].as_os_str() == path).then_some(at as usize)
    }
}

impl Recorded {
    pub fn new(earlier: Earlier) -> Self {
        let is_unordered = earlier.profile().is_some_and(|profile| profile.is_unordered);
        Recorded { earlier, is_unordered, ..Recorded::default() }
    }

    /// What is gone by.
    pub fn profile(&self) -> Option<&Profile> {
        self.earlier.profile()
    }

    /// Whose that is, in a word.
    pub fn word(&self) -> Option<&'static str> {
        self.earlier.word()
    }

    /// What runs of the same command found of themselves.
    pub fn findings(&self) -> Findings {
        match &self.earlier {
            Earlier::Own(profile) => profile.findings,
            Earlier::Alike(_) | Earlier::Related(_) | Earlier::Nothing => Findings::default(),
        }
    }

    /// What runs of the same command read.
    pub fn into_own(self) -> Option<Profile> {
        match self.earlier {
            Earlier::Own(profile) => Some(profile),
            Earlier::Alike(_) | Earlier::Related(_) | Earlier::Nothing => None,
        }
    }

    /// What a mapping of this file touched in the recorded run, as far as it is disclosed.
    pub fn take_mapped(&mut self, file: FileId) -> Vec<(u64, u64)> {
        self.mapped.remove(&file).unwrap_or_default()
    }

    /// The next of that, as far as `is_here` says of its blocks.
    fn take_here(&mut self, file: FileId, is_here: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
        let ranges = self.mapped.get_mut(&file)?;
        let (first, count) = ranges.first_mut()?;
        let (begin, here) = (*first, (*first..*first + *count).take_while(|&index| is_here(index)).count() as u64);
        (*first, *count) = (*first + here, *count - here);
        if *count == 0 {
            ranges.remove(0);
        }
        (here > 0).then_some((begin, here))
    }

    /// How a step is disclosed.
    fn source(&self, profile: &Profile, step: &Step) -> Source {
        // A single run of quite another command says of nothing that it is always read.
        let is_known = matches!(self.earlier, Earlier::Own(_) | Earlier::Alike(_)) || profile.runs > 1;
        if is_known && !self.is_unordered && profile.is_common(step) { Source::Profile } else { Source::Related }
    }

    /// The step to be disclosed next. In no order what lies before the first one comes after all
    /// others.
    fn next<'p>(&self, profile: &'p Profile) -> Option<&'p Step> {
        let (steps, at) = (&profile.steps, self.begun + self.disclosed);
        match steps.get(at) {
            None if self.is_unordered && self.disclosed < steps.len() => steps.get(at - steps.len()),
            step => step,
        }
    }

    fn begin_at(&mut self, step: usize) {
        (self.begun, self.disclosed) = (step, 0);
    }

    /// It is to be disclosed from this file on, if it holds it.
    fn go_on_from(&mut self, path: &OsStr) {
        let Some(profile) = self.earlier.profile() else { return };
        let places = self.places.get_or_insert_with(|| Places::of(profile));
        if let Some(place) = places.find(profile, path) {
            self.is_withdrawn = false;
            self.begin_at(place);
        }
    }

    /// Whether the run proves to go another way than was recorded, by the blocks that have come
    /// true by now and were passed over; or by how many of those that came true lately did where
    /// one of its readers was.
    fn leaves_order(&mut self, (consumed, skipped): (u64, u64), in_place: f64) -> bool {
        let (came_true, passed) = (consumed - self.judged.0, skipped.saturating_sub(self.judged.1));
        if came_true + passed < JUDGED_BLOCKS {
            return false;
        }
        self.judged = (consumed, skipped);
        let leaves = passed > came_true || in_place < IN_PLACE_MIN;
        leaves && !std::mem::replace(&mut self.is_unordered, true)
    }
}

impl Supervisor<'_> {
    /// Takes up what the recorded run's policy had learned.
    pub(super) fn begin_recorded(&mut self) {
        let learned = self.recorded.profile().map(|profile| profile.learned.clone());
        for event in learned.into_iter().flatten() {
            self.tell(event);
        }
        self.follow_recorded();
    }

    /// Discloses on, as far as it is time to; returns whether more is to be.
    pub(super) fn follow_recorded(&mut self) -> bool {
        if self.recorded.is_withdrawn {
            return false;
        }
        let is_all_due = self.driver.host.brought() != self.recorded.brought;
        let mut far = if is_all_due { FAR_A_TURN } else { 0 };
        while let Some(profile) = self.recorded.profile()
            && let Some(&step) = self.recorded.next(profile)
        {
            if self.driver.manager().open_hints() >= WALK_AHEAD_MAX {
                let Some(left) = far.checked_sub(1) else { return is_all_due };
                far = left;
            }
            let source = self.recorded.source(profile, &step);
            let file = self.names.of_path(&profile.files[step.file]);
            self.recorded.disclosed += 1;
            let Some(file) = file else { continue };
            for want in self.recorded.done.take(file, step.want) {
                self.tell(Event::Hint { reader: RUN, source, file, want });
            }
            if let (true, Want::Range { first, count }) = (step.mapped, step.want) {
                self.recorded.mapped.entry(file).or_default().push((first, count));
            }
        }
        false
    }

    /// A file was read, and it is not known what of it. The recorded run knows, and what of that
    /// has been brought is as good as read.
    pub(super) fn read_as_recorded(&mut self, file: FileId) {
        let manager = self.driver.manager();
        let is_here = |index| manager.is_present(Block { file, index });
        let mut here = Vec::new();
        while let Some(blocks) = self.recorded.take_here(file, is_here) {
            here.push(blocks);
        }
        for blocks in here {
            self.reference(RUN, file, blocks, 0, Demand::Observed);
        }
    }

    /// Looks whether the run goes in the recorded order. If not, what is left of it is disclosed
    /// anew, as in none.
    pub(super) fn judge_recorded(&mut self) {
        let manager = self.driver.manager();
        let (accuracy, in_place) = (manager.accuracy(Source::Profile), manager.in_place(Source::Profile));
        if self.recorded.profile().is_some()
            && !self.recorded.is_withdrawn
            && self.recorded.leaves_order(accuracy, in_place)
        {
            self.cancel_recorded();
            self.recorded.begin_at(0);
            self.recorded.done = self.recorder.done();
            self.follow_recorded();
        }
    }

    /// Programs are not heard of any more, or nothing is read ahead for them.
    pub(super) fn withdraw_recorded(&mut self) {
        if self.recorded.profile().is_some() && !self.recorded.is_withdrawn {
            self.recorded.is_withdrawn = true;
            self.recorded.done = Done::default();
            self.cancel_recorded();
        }
    }

    fn cancel_recorded(&mut self) {
        self.recorded.mapped.clear();
        for source in [Source::Profile, Source::Related] {
            self.tell(Event::Cancel { reader: RUN, source });
        }
    }

    /// Programs wait, or it is tried again: what the recorded run read from the file on that they named
    /// or read last is disclosed. If it did not read that, the next that it did will tell.
    pub(super) fn resume_recorded(&mut self) {
        if !self.recorded.is_withdrawn || self.quiet.is_quiet() {
            return;
        }
        self.recorded.brought = self.driver.host.brought();
        match self.recorded.last {
            Some(file) => self.recorded.go_on_from(self.names.path(file).as_os_str()),
            None => self.recorded.is_withdrawn = false,
        }
    }

    /// A program names or reads this file, and tells of it. If it waited for what it reads, or none is
    /// known to have named the file before (libraries, which every program opens, tell nothing of
    /// where they are), what the recorded run read from there on is disclosed.
    pub(super) fn find_recorded(&mut self, file: FileId, waited: bool) {
        let is_met = || self.sizes.contains_key(&file) || self.recorder.knows(file);
        self.recorded.last = Some(file);
        let is_asked = !self.quiet.is_quiet() && !self.suspension.is_suspended();
        if self.recorded.is_withdrawn && is_asked && (waited || !is_met() || self.takes_up_recorded()) {
            self.recorded.brought = self.driver.host.brought();
            self.recorded.go_on_from(self.names.path(file).as_os_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_runs_read_in_other_orders_is_disclosed_in_none() {
        let want = Want::Range { first: 0, count: 1 };
        let step = Step { file: 0, process: 1, want, mapped: false, runs: 3 };
        let source = |is_unordered| {
            let profile = Profile { is_unordered, runs: 2, ..Profile::default() };
            Recorded::new(Earlier::Own(profile.clone())).source(&profile, &step)
        };
        assert_eq!([false, true].map(source), [Source::Profile, Source::Related]);
    }

    #[test]
    fn after_a_pause_it_goes_on_from_a_file_and_in_no_order_with_what_lies_before_it_as_well() {
        let want = Want::Range { first: 0, count: 1 };
        let profile = Profile {
            files: ["/a", "/b", "/c"].into_iter().map(PathBuf::from).collect(),
            steps: (0..3).map(|file| Step { file, process: 1, want, mapped: false, runs: 1 }).collect(),
            ..Profile::default()
        };
        let go_on = |is_unordered, path| {
            let earlier = Earlier::Own(Profile { is_unordered, ..profile.clone() });
            let mut recorded = Recorded { is_withdrawn: true, disclosed: 3, ..Recorded::new(earlier) };
            recorded.go_on_from(OsStr::new(path));
            let files = std::iter::from_fn(|| {
                let step = recorded.next(&profile)?;
                recorded.disclosed += 1;
                Some(step.file)
            });
            let files: Vec<_> = files.collect();
            (recorded.is_withdrawn, files)
        };
        assert_eq!(go_on(false, "/b"), (false, vec![1, 2]));
        assert_eq!(go_on(true, "/b"), (false, vec![1, 2, 0]));
        assert_eq!(go_on(true, "/d"), (true, vec![]), "it does not hold that");
    }

    #[test]
    fn a_run_leaves_its_order_where_more_is_passed_over_than_comes_true() {
        let mut recorded = Recorded::default();
        assert!(!recorded.leaves_order((1000, 10), 1.0), "most comes true");
        assert!(!recorded.leaves_order((1020, 117), 1.0), "of too few it does not show");
        assert!(recorded.leaves_order((1040, 130), 1.0));
        assert!(!recorded.leaves_order((1040, 330), 1.0), "it has left already");
    }

    #[test]
    fn a_run_leaves_its_order_where_nearly_all_comes_true_elsewhere() {
        let mut recorded = Recorded::default();
        assert!(!recorded.leaves_order((1000, 0), 0.5), "one of several may be ahead");
        assert!(recorded.leaves_order((1200, 0), 0.2));
    }
}
