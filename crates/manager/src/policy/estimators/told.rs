//! The estimator of what is told: the next missing block is fetched in order, just in time, as long
//! as the device's pipe is not full, and the page used last makes room for it (Cao et al. 1995;
//! Kimbrel et al. 1996). On an arm, what is told of the blocks behind it comes along
//! (`manager/requests.rs`).
//!
//! ```text
//! worth of a page used in d references, and of fetching its block now, where r = 0:
//!
//!     believed * (c + r + max(0, L - d tau)) / (d / share)     what it costs not to have it, for each reference it is held
//!
//! r      what a request of its own keeps the device busy for: to be fetched again it needs one more
//! L      what a lone request to its device takes        c        the processor's part of a request, and the device's: 1 / B
//! B      blocks a nanosecond that the device delivers    tau      the reader's time from read to read, when nothing is missing
//! share  of all references, those its reader makes       believed how likely what the reader discloses is to be read
//!
//! fetching is pressing:  a page is free, or the block joins a request;
//!                        or fewer than L B + 1 blocks are under way,
//!                        and for some i the i-th missing block is used in no more than 1.1 (L + i / B) / tau references,
//!                        or was, and not yet a tenth of the fetches up to it are asked for                              (patience.rs)
//! what does not press, and what is disclosed by who read nothing of it yet:
//!                        goes where no page that is of use makes room for it
//! what may be wrong:     is fetched if it joins a request, or if believed * (part not in runs) * L > r                (prices.rs);
//! what was wrong before: its reader waits for what is left out, whatever is fetched: of a stall ahead, tau has these
//!                        waits in it, and 4 stands for 1.1;
//!                        it holds no page that was read: another policy decides, as if nothing were disclosed, but that
//!                        no page goes for a block that is used later
//! ```
//!
//! What waits for a use that should have come by now, by what was wrong before, is worth less the longer it waits, and is
//! not fetched again for that use once it is given up                                                              (overdue.rs)
//!
//! Of one reader's pages the worth falls with d, so that the page used last goes, and never for a
//! block that is used after it (do no harm), nor for one that is used a little before it: else,
//! where others take pages from time to time, the last ones are given up for one another and
//! fetched again and again. Beyond the pipe a request only waits at the device,
//! and was paid for with a page that was still of use. A free page costs nothing, so that the first
//! requests fill the device, and show what it delivers.
//!
//! Worked example: L = 5 ms, B = 64 blocks in 5 ms, tau = 50 us, d = 20 of the only reader. The
//! fetch must begin, for 20 * 50 us are less than 5 ms. It is worth (0.093 + 5 - 1) ms / 20 = 0.2
//! ms a reference. A page that nobody disclosed a use of is worth as much if it is read once in 25
//! references.

use super::Estimator;
use super::overdue::Overdue;
use super::prices::Prices;
use crate::hint::Use;
use crate::ids::{Block, DeviceId, Page};
use crate::policy::next_uses::{NextUses, Value};
use crate::policy::patience::{Arrivals, Patience};
use crate::policy::unread::TURNED_PART;
use crate::policy::{Ahead, Candidate, Context, Need, Worth};

/// What times are taken for, by what they were: they vary, and a page that comes a tenth early
/// costs little.
const MARGIN: f64 = 1.1;

/// The same where part of tau are waits for what is left out, which come by chance: four are to be
/// expected while a fetch is under way, so that none at all comes in two of a hundred times (e^-4).
const MARGIN_OF_WAITS: f64 = 4.0;

/// So many of those of a sequence that are overdue are looked at for one that may go.
const OVERDUE_LOOKED_AT: usize = 16;

/// Pages of which a use is disclosed, and those it was disclosed of.
#[derive(Default)]
pub struct Told {
    pages: NextUses,
    /// How long fetches may wait, and how fast the readers are.
    pub patience: Patience,
    /// What was brought for a use that does not come.
    pub overdue: Overdue,
}

impl Told {
    /// Whether somebody disclosed a use of a page that is to come.
    pub fn is_used(page: Page, context: &Context<'_>) -> bool {
        uses_to_come(page, context).next().is_some()
    }

    /// Whether a page is held for such a use.
    pub fn is_held(page: Page, context: &Context<'_>) -> bool {
        uses_to_come(page, context).any(|next| is_held_for(next, page, context))
    }

    /// The sequence for which a page was brought, if the use that it disclosed should have come by now and that made the
    /// page worth less.
    pub fn overdue_for(&self, page: Page, context: &Context<'_>) -> Option<u16> {
        let is_late = |next: &Use| {
            let until = context.references_until(*next).unwrap_or(0);
            late(&self.overdue, page, *next, context) > until
        };
        context.uses(page).find(is_late).map(|next| next.sequence)
    }

    /// The page that is overdue the longest and may go, and what it is worth. What came so lately that runs may await it
    /// is not named: they keep it from going (`unread.rs`).
    fn overdue(&self, value: &impl Value, context: &Context<'_>) -> Option<Candidate> {
        let turned = |came: u64| came + context.capacity / TURNED_PART < context.table.came();
        let may_go = |page: Page| self.pages.holds(page) && context.table.can_go(page);
        let doubted = self.overdue.sequences().filter(|&sequence| !context.is_hardly_wrong(sequence));
        let first = |sequence| {
            let pages = self.overdue.pages(sequence).take(OVERDUE_LOOKED_AT);
            pages.filter(|&(page, came)| turned(came) && may_go(page)).map(|(page, _)| page).next()
        };
        let priced = |page| {
            let worth = context.uses(page).filter_map(|next| value(page, next)).reduce(f64::max);
            Candidate::priced(page, worth.unwrap_or(f64::NEG_INFINITY))
        };
        doubted.filter_map(first).map(priced).min_by(|one, other| one.worth.total_cmp(&other.worth))
    }

    /// For tests.
    pub fn check(&self) {
        self.overdue.check();
        self.pages.check();
    }

    /// Whether it owns no page, and knows of none that it would own.
    pub fn is_idle(&self, context: &Context<'_>) -> bool {
        self.pages.is_empty() && !context.hints.any_disclosed()
    }

    /// What is disclosed of a page that it owns is no longer what it was.
    pub fn renew(&mut self, page: Page, prices: &Prices, context: &Context<'_>) {
        self.pages.renew(page, &value((&self.patience, &self.overdue), prices, context), context);
    }

    /// Whether a fetch must begin now.
    fn is_stall_ahead(&self, sequence: u16, device: DeviceId, prices: &Prices, context: &Context<'_>) -> bool {
        let (between, margin) = match context.is_hardly_wrong(sequence) {
            true => (self.patience.between_ns(sequence), MARGIN),
            false => (self.patience.progress_ns(sequence), MARGIN_OF_WAITS),
        };
        let each_ns = margin * prices.each_ns(device, context);
        let times = |access| Arrivals { first_ns: margin * access, each_ns, at_once: 1.0 };
        self.patience.is_stall_ahead(sequence, device, between, context.access_ns(device).map(times), context)
    }

    /// What it is worth to have a block that comes along with others, of what was never wrong and is
    /// being read: it saves a request of its own. None if that is used only after so many of all
    /// references.
    pub fn worth_along(&self, block: Block, within: f64, prices: &Prices, context: &Context<'_>) -> Option<f64> {
        let device = context.device_of_block(block);
        let again_ns = prices.request_ns(device, context);
        let worth = |Use { sequence, when }| {
            let references = context.references_until(Use { sequence, when })?;
            let is_sure = context.is_flawless(sequence, device) && prices.is_reading(sequence);
            let is_near = references as f64 <= within * prices.share_of(sequence);
            let worth = || worth(&self.patience, prices, sequence, device, references, again_ns, context);
            (is_sure && is_near).then(worth)
        };
        context.uses_of(block).filter_map(worth).reduce(f64::max)
    }

    /// A sequence is no more; what it alone disclosed goes first.
    pub fn sequence_ended(&mut self, sequence: u16) {
        self.pages.forget(sequence);
        self.patience.forget(sequence);
        self.overdue.forget(sequence);
    }
}

/// Disclosed uses that have not passed.
fn uses_to_come<'a>(page: Page, context: &'a Context<'_>) -> impl Iterator<Item = Use> + use<'a> {
    context.uses(page).filter(|&next| context.references_until(next).is_some())
}

/// Whether a page is held for this use: what was brought for one is, until it is read. By what was
/// wrong before nothing else is.
fn is_held_for(next: Use, page: Page, context: &Context<'_>) -> bool {
    context.table.state(page).is_unread() || context.is_hardly_wrong(next.sequence)
}

/// By how many reads a page's use is overdue, where something was wrong before that says so.
fn late(overdue: &Overdue, page: Page, next: Use, context: &Context<'_>) -> u64 {
    match overdue.by(page, next) {
        0 => 0,
        late if context.table.state(page).is_unread() && !context.is_hardly_wrong(next.sequence) => late,
        _ => 0,
    }
}

/// What it costs not to have a page, or a block, that is used next in so many references, for each
/// of all references until then.
fn worth(
    patience: &Patience,
    prices: &Prices,
    sequence: u16,
    device: DeviceId,
    references: u64,
    again_ns: f64,
    context: &Context<'_>,
) -> f64 {
    let (latency, tau) = (prices.latency_ns(device, context), patience.between_ns(sequence).unwrap_or(0.0));
    let late = (latency - references as f64 * tau).max(0.0);
    let among_all = references.max(1) as f64 / prices.share_of(sequence);
    context.confidence(sequence) * (prices.fetch_ns(device, context) + again_ns + late) / among_all
}

/// The same of a page for this use of it, unless that has passed.
fn worth_of(
    (patience, overdue): (&Patience, &Overdue),
    prices: &Prices,
    page: Page,
    next: Use,
    context: &Context<'_>,
) -> Option<f64> {
    let (references, device) = (context.references_until(next)?, context.device_of(page));
    let references = references.max(late(overdue, page, next, context));
    let again_ns = prices.request_ns(device, context);
    Some(worth(patience, prices, next.sequence, device, references, again_ns, context))
}

fn value<'a>(of: (&'a Patience, &'a Overdue), prices: &'a Prices, context: &'a Context<'_>) -> impl Value + use<'a> {
    move |page, next| match is_held_for(next, page, context) {
        true => worth_of(of, prices, page, next, context),
        false => None,
    }
}

impl Estimator<Prices> for Told {
    /// What was wrong before holds nothing that was read; but for a block that is used later no page goes that is
    /// used sooner.
    fn defends(&self, page: Page, prices: &Prices, context: &Context<'_>, need: Need) -> bool {
        let is_dearer =
            |next| worth_of((&self.patience, &self.overdue), prices, page, next, context) > Some(need.value);
        need.value.is_finite() && uses_to_come(page, context).any(is_dearer)
    }

    fn least(&self, prices: &Prices, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let value = value((&self.patience, &self.overdue), prices, context);
        let either = [self.pages.candidate(&value, context), self.overdue(&value, context)];
        either.into_iter().flatten().min_by(|one, other| one.worth.total_cmp(&other.worth))
    }

    fn refresh(&mut self, prices: &mut Prices, context: &Context<'_>) {
        let Told { pages, overdue, .. } = self;
        overdue.settle(|page| pages.holds(page) && context.table.state(page).is_unread());
        self.pages.weigh(&value((&self.patience, &self.overdue), prices, context), context);
    }

    fn knows_each(&self) -> bool {
        true
    }

    fn gives_back(&self, page: Page, _: &Prices, context: &Context<'_>) -> bool {
        Told::is_used(page, context) && !Told::is_held(page, context)
    }

    fn worth(&self, page: Page, prices: &Prices, context: &Context<'_>) -> Option<f64> {
        let value = value((&self.patience, &self.overdue), prices, context);
        context.uses(page).filter_map(|next| value(page, next)).reduce(f64::max)
    }

    fn owns(&self, page: Page) -> bool {
        self.pages.holds(page)
    }

    fn own(&mut self, page: Page, prices: &mut Prices, context: &Context<'_>) {
        if context.table.state(page).is_unread() {
            let uses = context.uses(page).filter_map(|next| Some((context.references_until(next)?, next)));
            if let Some((reads, next)) = uses.min_by_key(|&(reads, _)| reads) {
                self.overdue.brought(page, context.table.came(), next, reads);
            }
        }
        self.pages.push(page, &value((&self.patience, &self.overdue), prices, context), context);
    }

    fn disown(&mut self, page: Page, _: &mut Prices, _: &Context<'_>) {
        if self.pages.holds(page) {
            self.pages.left(page);
        }
    }

    fn ahead(&self, ahead: &Ahead, prices: &Prices, context: &Context<'_>) -> Option<Worth> {
        let &Ahead { sequence, device, references, joins, .. } = ahead;
        if !(joins || context.takes_request(device) && prices.is_fetched(sequence, device, context)) {
            return None;
        }
        let ledger = context.ledger();
        let is_pressing = joins
            || ledger.used < ledger.capacity
            || !context.is_pipe_full(device) && self.is_stall_ahead(sequence, device, prices, context);
        let worth = worth(&self.patience, prices, sequence, device, references, 0.0, context);
        // Of what a hint brings back before it is missed, a kept page's price knows nothing: it is of use, though the
        // price be nought, where what is told does not see to all that is read.
        let spare = if context.is_hardly_wrong(sequence) { f64::MIN_POSITIVE } else { 0.0 };
        let value = if is_pressing && prices.is_reading(sequence) { worth } else { spare };
        Some(Worth { rank: value, value })
    }
}
