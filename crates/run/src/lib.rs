//! foresee runs beside unmodified programs: it learns what they read, and reads ahead for them.
//!
//! [`run::Run`] is the way in: a command goes in, an [`account::Account`] comes out. In between,
//! [`supervisor::Supervisor`] takes what the programs do ([`source`]), the manager decides, and the
//! page-cache host ([`host`]) carries it out. Hints come from the command's words ([`hints`]), from
//! a recorded run ([`profile`]), and from what the program tells the kernel.
//!
//! Two stand beside all that: [`stripe`], one file dealt out over several disks, and
//! [`source::fanotify`], which records what any process reads.

pub mod account;
pub mod child;
pub mod clock;
mod control_group;
mod handle;
pub mod handover;
pub mod hints;
pub mod host;
pub mod inherited;
mod kept;
pub mod launch;
pub mod limit;
pub mod names;
mod paths;
pub mod pool;
pub mod process_stat;
pub mod processes;
mod processors;
pub mod profile;
pub mod programs;
pub mod resolve;
pub mod run;
pub mod say;
pub mod shared;
pub mod source;
pub mod status;
pub mod stripe;
pub mod supervisor;
pub mod unseen;
