//! Programs of every day, with and without foresee: the same bytes, the same errors, the same
//! status.

mod support;

use std::fs;

use support::{Place, Same, have, lines_of, same};

#[test]
fn cat() {
    let place = Place::new();
    place.write_lines(20, 2000);
    place.write("empty", "");
    let files: Vec<String> = (0..20).map(|it| format!("d/f{it}")).collect();
    let words: Vec<&str> = ["cat"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let whole: String = (0..20).map(|it| lines_of(it, 2000)).collect();
    assert_eq!(same(&place, &words).with(0).out(), whole);
    same(&place, &["cat", "d/f3", "missing", "empty", "d/f4"]).with(1);
    same(&place, &["cat", "d", "d/f1"]).with(1);
    same(&place, &["cat", "-n", "d/f1", "-", "d/f2"]).with(0);
    Same::new(&place, &["cat"]).stdin("from a pipe\n").check().with(0);
    same(&place, &["cat", "--no-such-option"]).with(1);
}

#[test]
fn grep() {
    let place = Place::new();
    place.write_lines(30, 300);
    place.write("d/deeper/still/here", "word1 at the end");
    place.write("d/binary", [b"\0\xff word1".as_slice(), &[0; 9000]].concat());
    assert!(same(&place, &["grep", "-r", "word1", "d"]).with(0).out().contains("d/deeper/still/here:"));
    same(&place, &["grep", "-rn", "--", "no such words", "."]).with(1);
    same(&place, &["grep", "-rc", "word5", "d", "missing"]).with(2);
    same(&place, &["grep", "-c", "word", "d/f0", "d/f29"]).with(0);
    same(&place, &["grep", "-rl", "line 299"]).with(0);
}

#[test]
fn sort_sed_sums_and_counts() {
    let place = Place::new();
    place.write_lines(8, 4000);
    let files: Vec<String> = (0..8).map(|it| format!("d/f{it}")).collect();
    let with = |words: &[&str]| -> Vec<String> { words.iter().map(|it| it.to_string()).chain(files.clone()).collect() };
    // With so little memory it goes through temporary files, which it merges.
    same(&place, &with(&["sort", "-S", "1M", "-k", "6"])).with(0);
    same(&place, &with(&["sort", "-m"])).with(0);
    same(&place, &with(&["md5sum"])).with(0);
    same(&place, &with(&["wc"])).with(0);
    same(&place, &with(&["sed", "-n", "/word96/p;$="])).with(0);
    same(&place, &["tail", "-n", "3", "d/f1", "d/f2"]).with(0);
    same(&place, &["comm", "d/f0", "d/f0"]).with(0);
    same(&place, &["cmp", "d/f0", "d/f1"]).with(1);
    same(&place, &["diff", "-r", "d", "d"]).with(0);
    place.assert_nothing_left();
}

#[test]
fn sed_in_place_changes_the_files_the_same() {
    let place = Place::new();
    let before = || {
        place.write_lines(5, 500);
    };
    let script = "sed -i s/word1/changed/ d/* && md5sum d/*";
    assert_eq!(Same::script(&place, script).before(before).check().with(0).out().lines().count(), 5);
}

#[test]
fn tar_and_cp() {
    let place = Place::new();
    place.write_lines(30, 200);
    place.write("d/a/b/c/deep", lines_of(1, 1000));
    std::os::unix::fs::symlink("f1", place.path("d/link")).unwrap();
    fs::hard_link(place.path("d/f2"), place.path("d/hard")).unwrap();
    Same::script(&place, "tar c d | tar t").check().with(0);
    same(&place, &["tar", "-c", "--mtime=@0", "--sort=name", "-f", "-", "d"]).with(0);
    let tree = "find . -printf '%P %m %s %l\\n' | sort; find . -type f | sort | xargs md5sum";
    let copy = |how: &str| format!("rm -rf ../tmp/copy; {how} && cd ../tmp/copy && {tree}; rm -rf ../copy");
    Same::script(&place, &copy("cp -r d ../tmp/copy")).check().with(0);
    Same::script(&place, &copy("cp -a d ../tmp/copy")).check().with(0);
    Same::script(&place, &copy("tar cf ../tmp/x.tar d && mkdir ../tmp/copy && tar xf ../tmp/x.tar -C ../tmp/copy"))
        .check()
        .with(0);
    let copied = |words: &[&str]| {
        let before = || {
            let _ = fs::remove_dir_all(place.tmp().join("copy"));
        };
        Same::new(&place, words).before(before).check().with(0);
        let differ = support::end(place.plain(&["diff", "-r", "d", "../tmp/copy"]), b"");
        differ.with(0);
    };
    copied(&["cp", "-r", "d", "../tmp/copy"]);
}

#[test]
fn find_with_exec() {
    let place = Place::new();
    place.write_lines(40, 50);
    same(&place, &["find", "d", "-name", "f*", "-exec", "md5sum", "{}", "+"]).with(0);
    same(&place, &["find", "d", "-name", "f1*", "-exec", "cat", "{}", ";"]).with(0);
    same(&place, &["find", "d", "missing", "-size", "+1k"]).with(1);
    Same::script(&place, "find d -type f -print0 | xargs -0 -P 3 -n 7 wc -c").sorted().check().with(0);
}

#[test]
fn a_pipe_of_five() {
    let place = Place::new();
    place.write_lines(10, 1000);
    Same::script(&place, "cat d/* | grep word7 | sort -r | sed s/line/LINE/ | head -n 50").check().with(0);
    Same::script(&place, "cat d/* | tr a-z A-Z | cut -d' ' -f2- | uniq -c | tail -n 9").check().with(0);
}

#[test]
fn redirections() {
    let place = Place::new();
    place.write("in", lines_of(3, 3000));
    Same::script(&place, "wc -l < in; read a < in; echo \"$a\"; (read b; read c; echo \"$c\"; cat) < in")
        .check()
        .with(0);
    Same::script(&place, "cat <<EOF\nhere $(wc -c < in)\nEOF").check().with(0);
    // An interactive pipe: each answer is needed before the next word is sent.
    let script = "mkfifo a b; (while read x; do echo \"got $x\"; done < a > b) & exec 3> a 4< b
        for i in 1 2 3 4 5; do echo $i >&3; read y <&4; echo \"$y\"; done; exec 3>&-; wait; rm a b";
    assert_eq!(Same::script(&place, script).check().with(0).out(), "got 1\ngot 2\ngot 3\ngot 4\ngot 5\n");
    Same::script(&place, "while read -r x; do echo \"$x\"; done").stdin(lines_of(1, 20)).check().with(0);
}

#[test]
fn exec_chains() {
    let place = Place::new();
    place.write("f", lines_of(0, 100));
    Same::script(&place, "exec cat f").check().with(0);
    Same::script(&place, "exec sh -c 'exec sh -c \"exec env cat f\"'").check().with(0);
    same(&place, &["env", "A=b", "nice", "-n", "1", "cat", "f"]).with(0);
    Same::script(&place, "exec 5< f; exec sh -c 'read x <&5; echo \"$x\"; exec cat <&5'").check().with(0);
}

#[test]
fn two_hundred_short_processes() {
    let place = Place::new();
    place.write_lines(1, 5);
    let script = "for i in $(seq 200); do /bin/cat d/f0 > out$i; done; cat out* | wc; rm out*";
    Same::script(&place, script).check().with(0);
    Same::script(&place, "for i in $(seq 40); do (cat d/f0 | md5sum) & done; wait").check().with(0);
}

#[test]
fn direct_reads() {
    let place = Place::new();
    place.write("f", vec![b'x'; 1 << 20]);
    let here = support::end(place.plain(&["dd", "if=f", "bs=4096", "count=1", "iflag=direct", "status=none"]), b"");
    if here.how != "status 0" {
        eprintln!("skipped: O_DIRECT does not work in the temporary directory");
        return;
    }
    place.write("f", lines_of(1, 20_000));
    same(&place, &["dd", "if=f", "bs=64k", "iflag=direct", "status=none"]).with(0);
    same(&place, &["dd", "if=f", "bs=4k", "skip=7", "count=9", "iflag=direct", "status=none"]).with(0);
}

#[test]
fn two_thousand_open_files() {
    let place = Place::new();
    let many = place.path("many");
    fs::create_dir_all(&many).unwrap();
    for file in 0..2000 {
        fs::write(many.join(file.to_string()), format!("contents of {file}\n")).unwrap();
    }
    let program = "
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (3000, max(3000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
files = [os.open(f'many/{i}', os.O_RDONLY) for i in range(2000)]
print(files[-1], len(set(files)))
for f in reversed(files):
    print(os.read(f, 100).decode(), end='')
print(len(os.listdir('/proc/self/fd')))
";
    if have("python3") {
        Same::python(&place, program).check().with(0);
    }
}

#[test]
fn a_file_followed_as_it_grows() {
    let place = Place::new();
    let before = || {
        place.write("log", "first\n");
    };
    let script = "(for i in 1 2 3 4 5; do sleep 0.1; echo line $i >> log; done) & tail -n +1 -s 0.05 -f --pid=$! log";
    assert_eq!(Same::script(&place, script).before(before).check().with(0).out().lines().count(), 6);
}
