//! Files that become others under their readers, and what else a review found: each of these once
//! hung foresee or misled it.

mod support;

use support::{Place, Same, end, have, is_root};

#[test]
fn a_fifo_takes_the_place_of_a_mapped_file() {
    let place = Place::new();
    place.write_lines(1, 3000);
    let program = "import mmap, os, shutil\nshutil.copy('d/f0', 'm')\nfile = open('m', 'rb')\n\
                   view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\nprint(len(view[:]))\n\
                   os.unlink('m')\nos.mkfifo('m')\n";
    Same::python(&place, program).before(|| drop(std::fs::remove_file(place.path("m")))).check().with(0);
}

#[test]
fn a_fifo_takes_the_place_of_a_file_whose_blocks_are_dropped() {
    let place = Place::new();
    place.write_lines(4, 40_000);
    let script = "rm -f q; cp d/f0 q; cat q; rm q; mkfifo q; cat d/f1 d/f2 d/f3; rm q";
    let ended = end(place.run(&["--memory", "64KiB"], &["sh", "-c", script]), b"").with(0);
    assert_eq!(ended.stdout, end(place.plain(&["sh", "-c", script]), b"").with(0).stdout);
}

/// What a compiler's temporary files do: an inode that was somebody else's.
#[test]
fn an_inode_is_used_again_under_another_name() {
    let place = Place::new();
    place.write_lines(1, 20_000);
    let script = "rm -f real; echo x > tmp; cat tmp; rm tmp; cp d/f0 real; cat real";
    end(place.run(&[], &["sh", "-c", script]), b"").with(0);
    let listed = end(place.foresee(&["profile", "list", "--json"]), b"").with(0);
    let rows: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let shown = end(place.foresee(&["profile", "show", rows[0]["name"].as_str().unwrap()]), b"").with(0).out();
    let of_real = shown.lines().find(|line| line.contains("reads") && line.ends_with("/real"));
    assert!(of_real.is_some(), "{shown}");
}

#[test]
fn a_file_is_replaced_by_one_of_the_same_size() {
    let place = Place::new();
    place.write("a", vec![b'a'; 200_000]);
    place.write("b", vec![b'b'; 200_000]);
    let script = "cp a x; cp b y; cat x; mv y x; cat x; rm x";
    Same::script(&place, script).check().with(0);
}

#[test]
fn children_that_outlive_the_command_do_not_keep_foresee() {
    let place = Place::new();
    place.write_lines(1, 10);
    let child = "timeout 30 sh -c 'while [ ! -f stop ]; do [ -f d/f0 ]; done' >/dev/null 2>&1 &";
    let script = &format!("{child} {child} {child} {child} sleep 0.2; echo over");
    // No pipe of ours for the children to hold: the end is foresee's.
    let mut command = place.run(&[], &["sh", "-c", script]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    assert!(command.status().unwrap().success());
    assert!(!place.processes().is_empty(), "foresee waited for children that outlive the command");
    place.write("stop", "");
    place.wait_for_all();
}

#[test]
fn a_program_may_unmount_what_it_read() {
    if !is_root() || !have("mount") {
        eprintln!("skipped: needs root and mount");
        return;
    }
    let place = Place::new();
    let script = "mkdir -p mnt; mount -t tmpfs none mnt || exit 77; seq 100000 > mnt/f; cat mnt/f >/dev/null; sleep 0.6; umount mnt";
    for _ in 0..2 {
        let ended = end(place.run(&[], &["sh", "-c", script]), b"");
        if ended.how == "status 77" {
            eprintln!("skipped: tmpfs cannot be mounted here");
            return;
        }
        ended.with(0);
    }
}

/// Nobody takes what foresee says: that is no reason to fail.
#[test]
fn a_full_standard_error_changes_nothing() {
    let place = Place::new();
    place.write_lines(1, 10);
    let mut command = place.run(&["--report"], &["cat", "d/f0"]);
    command.stderr(std::fs::File::options().write(true).open("/dev/full").unwrap());
    assert!(command.output().unwrap().status.success());
}
