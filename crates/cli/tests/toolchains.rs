//! Compilers, version control, databases and interpreters, with and without foresee.

mod support;

use std::fmt::Write;

use support::{Place, Same, have, same};

/// A small project: twenty files, a header each, and what puts them together.
fn write_project(place: &Place) {
    let (mut main, mut calls) = ("#include <stdio.h>\n".to_owned(), String::new());
    for unit in 0..20 {
        place.write(format!("p/u{unit}.h"), format!("int unit{unit}(int x);\n"));
        let body = format!(
            "#include \"u{unit}.h\"\n#include <string.h>\nint unit{unit}(int x) {{ return x * {unit} + 1; }}\n"
        );
        place.write(format!("p/u{unit}.c"), body);
        writeln!(main, "#include \"u{unit}.h\"").unwrap();
        write!(calls, "sum += unit{unit}(sum); ").unwrap();
    }
    place.write(
        "p/main.c",
        format!("{main}int main(void) {{ unsigned sum = 1; {calls}printf(\"%u\\n\", sum); return 3; }}\n"),
    );
    let makefile = "OBJECTS = main.o $(foreach n,$(shell seq 0 19),u$(n).o)
prog: $(OBJECTS)
\tgcc -o $@ $^
%.o: %.c
\tgcc -O1 -c -o $@ $<
clean:
\trm -f *.o prog
";
    place.write("p/Makefile", makefile);
}

#[test]
fn gcc_and_make() {
    if !have("gcc") || !have("make") {
        return;
    }
    let place = Place::new();
    write_project(&place);
    Same::script(&place, "cd p && gcc -o prog *.c && ./prog; echo $?; md5sum prog; make -s clean").check().with(0);
    let script = "cd p && make -j2 && ./prog; echo $?; md5sum *.o prog; touch u3.h u3.c; make -j2; make clean";
    Same::script(&place, script).sorted().check().with(0);
    place.write("p/u7.c", "int unit7(int x) { return y; }\n");
    let ended = same(&place, &["make", "-C", "p", "-s", "u7.o"]).with(2);
    assert!(ended.err().contains("undeclared"), "{ended:?}");
    place.assert_nothing_left();
}

#[test]
fn git() {
    if !have("git") {
        return;
    }
    let place = Place::new();
    place.write_lines(25, 60);
    let script = "
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='@1000000000 +0000'
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE='@1000000000 +0000'
export GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
rm -rf r && mkdir r && cd r && git init -q -b main . && cp -r ../d . && git add . && git commit -q -m one &&
echo more >> d/f3 && rm d/f4 && git status --short && git add -A && git commit -q -m two && git log --stat &&
git status && git diff HEAD~1 | md5sum && git checkout -q HEAD~1 && cat d/f4 && git grep -n 'word9' | md5sum &&
git gc -q && git fsck && git show --stat HEAD && git rev-parse HEAD && git cat-file -p nonsense; echo $?; rm -rf ../r";
    let ended = Same::script(&place, script).check().with(0);
    assert!(ended.out().ends_with("128\n") && ended.out().contains("2 files changed"), "{ended:?}");
}

#[test]
fn sqlite() {
    let place = Place::new();
    let fill = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b);
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
        INSERT INTO t SELECT x, 'row ' || (x * 7919 % 20011) FROM n;";
    let ask = "SELECT count(*), sum(a) FROM t WHERE b LIKE 'row 1%'; SELECT * FROM t ORDER BY b LIMIT 20;
        SELECT a FROM t WHERE b = 'row 77'; PRAGMA integrity_check;";
    if have("sqlite3") {
        for journal in ["delete", "wal"] {
            let mode = format!("PRAGMA journal_mode={journal};");
            let script =
                format!("rm -f db*; sqlite3 db \"{mode} {fill}\" && sqlite3 db \"{ask}\"; sqlite3 db 'SELECT x'");
            let ended = Same::script(&place, &script).check();
            assert!(ended.out().ends_with("ok\n") && ended.err().contains("no such column"), "{ended:?}");
        }
        place.write("kept.sql", ask);
        let made = support::end(place.plain(&["sqlite3", "kept", fill]), b"");
        made.with(0);
        same(&place, &["sqlite3", "-readonly", "kept", ask]).with(0);
        Same::new(&place, &["sqlite3", "kept"]).stdin(format!("PRAGMA mmap_size=100000000; {ask}")).check().with(0);
    }
    let program = format!(
        "
import sqlite3, os
for name in ['py', 'py-wal', 'py-shm', 'py-journal']:
    if os.path.exists(name): os.unlink(name)
db = sqlite3.connect('py')
db.executescript('''{fill}''')
db.commit()
for statement in '''{ask}'''.split(';'):
    for row in db.execute(statement): print(row)
db.close()
"
    );
    if have("python3") {
        Same::python(&place, &program).check().with(0);
    }
}

#[test]
fn python_threads_forks_and_imports() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    place.write_lines(24, 400);
    place.write("module/__init__.py", "from . import inner\n");
    place.write("module/inner.py", "VALUE = 17\n");
    let threads = "
import threading, hashlib, glob, json, module.inner
sums = {}
def take(name):
    with open(name, 'rb') as f: sums[name] = hashlib.md5(f.read()).hexdigest()
threads = [threading.Thread(target=take, args=(n,)) for n in sorted(glob.glob('d/*'))]
[t.start() for t in threads]; [t.join() for t in threads]
print(json.dumps(sums, sort_keys=True), module.inner.VALUE)
";
    Same::python(&place, threads).check().with(0);
    let forks = "
import os, sys
shared = os.open('d/f0', os.O_RDONLY)
for i in range(8):
    pid = os.fork()
    if pid == 0:
        # The position is shared with the parent and the others.
        mine = os.read(shared, 100)
        with open(f'd/f{i}') as f: text = f.read()
        os.write(1, mine + b'|' + str(len(text)).encode() + b'\\n')
        os._exit(i)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
print(os.lseek(shared, 0, 1))
";
    Same::python(&place, forks).check().with(0);
    let pool = "
import multiprocessing as m, sys
def count(n):
    with open(f'd/f{n}') as f: return sum(map(len, f))
if __name__ == '__main__':
    for how in ['fork', 'spawn', 'forkserver']:
        with m.get_context(how).Pool(3) as pool: print(how, pool.map(count, range(24)))
";
    place.write("pool.py", pool);
    same(&place, &["python3", "pool.py"]).with(0);
    let failing = "import subprocess; subprocess.run(['cat', 'missing'], check=True)";
    Same::python(&place, failing).check().with(1);
}
