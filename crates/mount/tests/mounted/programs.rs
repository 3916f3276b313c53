//! Programs that people have read what is mounted as they read what it is of.

use std::fs;
use std::process::Command;

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount, server};
use crate::process::{end, have};

/// What this script prints in a directory.
fn says(script: &str, directory: &std::path::Path) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(directory).env("LC_ALL", "C").env("GIT_CONFIG_GLOBAL", "/dev/null");
    end(command, b"").with(0).out()
}

/// A Python that has this module: the one that PYTHON names, that of the package's own tests, or
/// the system's. Says so if none has.
fn python_with(module: &str) -> Option<String> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/bin/python");
    let has = |python: &String| {
        let words = ["-c".to_owned(), format!("import {module}")];
        Command::new(python).args(words).output().is_ok_and(|it| it.status.success())
    };
    let known = std::env::var("PYTHON").into_iter().chain([own.to_owned(), "python3".to_owned()]);
    let found = known.into_iter().find(has);
    if found.is_none() {
        eprintln!("skipped: no Python has {module}: 'make test-python' makes one, PYTHON names another");
    }
    found
}

/// What is in a directory, as objects of a bucket.
fn put_all(server: &foresee_object_server::Server, directory: &std::path::Path, begin: &str) {
    for entry in fs::read_dir(directory).unwrap().map(|it| it.unwrap()) {
        let key = format!("{begin}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => put_all(server, &entry.path(), &key),
            false => server.put(&key, fs::read(entry.path()).unwrap()),
        }
    }
}

/// Makes what the programs read.
const MAKE: &str = "
import os, sqlite3, subprocess, tarfile, zipfile
with zipfile.ZipFile('z.zip', 'w', zipfile.ZIP_DEFLATED) as z, tarfile.open('t.tar.gz', 'w:gz') as t:
    for at in range(5):
        z.write(f'tree/text/{at}'); t.add(f'tree/{at}')
base = sqlite3.connect('base.db')
base.execute('create table t(a integer primary key, b text)')
base.executemany('insert into t values (?, ?)', ((at, 'word%d' % (at * 7919 % 20000)) for at in range(20000)))
base.execute('create index i on t(b)'); base.commit(); base.close()
for words in (['init', '-q', 'repository'], ['-C', 'repository', 'config', 'user.email', 'a@b'],
              ['-C', 'repository', 'config', 'user.name', 'a']):
    subprocess.check_call(['git'] + words)
for at in range(3):
    open(f'repository/file{at}', 'w').write('text\\n' * at * 1000)
    subprocess.check_call(['git', '-C', 'repository', 'add', '.'])
    subprocess.check_call(['git', '-C', 'repository', 'commit', '-qm', str(at)])
subprocess.check_call(['git', '-C', 'repository', 'gc', '-q'])
os.makedirs('source/include')
open('source/include/sum.h', 'w').write(''.join(f'int part{at}(void);\\n' for at in range(8)))
for at in range(8):
    open(f'source/part{at}.c', 'w').write(f'#include <sum.h>\\nint part{at}(void) {{ return {at}; }}\\n')
parts = ' + '.join(f'part{at}()' for at in range(8))
open('source/main.c', 'w').write('#include <stdio.h>\\n#include <sum.h>\\n'
    f'int main(void) {{ return printf(\"%d\\\\n\", {parts}) < 0; }}\\n')
open('source/Makefile', 'w').write('OUT = .\\nPARTS = $(patsubst %.c,$(OUT)/%.o,$(notdir $(wildcard *.c)))\\n'
    '$(OUT)/sum: $(PARTS)\\n\\tgcc -o $@ $^\\n$(OUT)/%.o: %.c include/sum.h\\n\\tgcc -Iinclude -c -o $@ $<\\n')
";

/// Tells of archives, a data base, a mapping and a walk.
const READ: &str = "
import hashlib, mmap, os, sqlite3, tarfile, zipfile
def tell(*words): print(*words)
with zipfile.ZipFile('z.zip') as z: tell(z.testzip(), [(i.filename, i.CRC) for i in z.infolist()])
with tarfile.open('t.tar.gz') as t: tell([(m.name, m.size, hashlib.md5(t.extractfile(m).read()).hexdigest()) for m in t if m.isfile()])
base = sqlite3.connect('file:base.db?mode=ro&immutable=1', uri=True)
tell(base.execute('pragma integrity_check').fetchall(), base.execute('select sum(a) from t where b like \"word1%\"').fetchall())
with open('base.db', 'rb') as f:
    tell(hashlib.md5(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)).hexdigest())
for above, directories, files in os.walk('tree'):
    directories.sort()
    tell(above, sorted((f, os.path.getsize(os.path.join(above, f))) for f in files))
";

/// Loads samples as trainers do: in an order of chance, by four processes, in batches that come in
/// order.
const LOAD: &str = "
import multiprocessing, os, random, zlib
def load(path):
    with open(path, 'rb') as sample: return path, zlib.crc32(sample.read())
samples = sorted(os.path.join(above, name) for above, _, names in os.walk('tree') for name in names)
with multiprocessing.Pool(4) as workers:
    for epoch in range(2):
        random.Random(epoch).shuffle(samples)
        for loaded in workers.imap(load, samples, 8): print(*loaded)
";

/// Columns of some groups of rows, by several threads.
const QUERY: &str = "
import duckdb
for query in ('count(*), sum(a), max(b)', 'sum(a) filter (b like \"word7%\")'):
    print(duckdb.sql(f'select {query} from \"rows.parquet\"'.replace('\"', chr(39))).fetchall())
query = 'select a from read_parquet([\"rows.parquet\"]) where a between 50000 and 50003 order by a'
print(duckdb.sql(query.replace('\"', chr(39))).fetchall())
";
const ROWS: &str = "
import duckdb
rows = 'select range as a, concat(\"word\", range * 7919 % 20000) as b from range(200000)'
duckdb.sql(f'copy ({rows}) to \"rows.parquet\" (format parquet, row_group_size 10000)'.replace('\"', chr(39)))
";

#[test]
fn they_print_the_same_of_a_directory_and_of_objects() {
    if !can_mount() || !have("python3") || !have("git") {
        return;
    }
    let place = Place::new();
    for at in 0..40 {
        place.write(&format!("tree/{}/{at}", at % 5), bytes(&at.to_string(), 1, at * at * 40));
        place.write(&format!("tree/text/{at}"), format!("line {at}\nneedle {}\n", at % 3));
    }
    for (name, program) in [("make", MAKE), ("read", READ), ("load", LOAD), ("query", QUERY), ("rows", ROWS)] {
        fs::write(place.path(name).with_extension("py"), program).unwrap();
    }
    let from = place.path("from");
    let python = |name: &str| format!("python3 {}", place.path(name).with_extension("py").display());
    says(&python("make"), &from);
    // A directory of the machine's own for what they write.
    let with_scratch = |script: &str| {
        let scratch = place.path("scratch").display().to_string();
        format!("rm -rf {scratch}; mkdir {scratch}; {}", script.replace("SCRATCH", &scratch))
    };
    let mut scripts = vec![
        python("read"),
        python("load"),
        "grep -rn needle tree | sort; grep -rc line tree/text | sort | tail -3".to_owned(),
        "find tree -type f | sort | xargs md5sum; tar cf - tree/text | tar tf - | sort".to_owned(),
        with_scratch("tar xzf t.tar.gz -C SCRATCH; find SCRATCH -type f | sort | xargs cat | md5sum"),
        with_scratch(
            "git clone -q repository SCRATCH/r; git -C SCRATCH/r log --format=%s; cat SCRATCH/r/file* | md5sum",
        ),
        "git -C repository fsck --full 2>&1 | sort; git -C repository log --format=%H".to_owned(),
    ];
    if have("rg") {
        scripts.push("rg -n needle tree | sort; rg --files tree | sort".to_owned());
    }
    if have("make") && have("gcc") {
        scripts.push(with_scratch("make -s -j2 -C source OUT=SCRATCH; SCRATCH/sum"));
    }
    if let Some(with_duckdb) = python_with("duckdb") {
        let python = |name: &str| python(name).replacen("python3", &with_duckdb, 1);
        says(&python("rows"), &from);
        scripts.push(python("query"));
    }
    let plain: Vec<_> = scripts.iter().map(|script| says(script, &from)).collect();
    let server = server();
    put_all(&server, &from, "/b");
    let directory = Mounted::directory(place, &["--memory", "8M"]);
    // What is built there is run there.
    let bucket = Mounted::bucket(&server, &["--memory", "8M", "--file-mode", "755"]);
    for (script, plain) in scripts.iter().zip(&plain) {
        assert_eq!(says(script, &directory.at), *plain, "{script}");
        // A repository has empty directories, which objects cannot have.
        if !script.contains("git") {
            assert_eq!(says(script, &bucket.at), *plain, "{script}");
        }
    }
    assert_eq!(says(&format!("diff -r {} .", directory.place.path("from").display()), &directory.at), "");
    if have("make") && have("gcc") {
        // What is built goes to the bucket as well.
        assert_eq!(says("make -s -C source; source/sum", &bucket.at), "28\n");
    }
}

/// Clones a repository into the bucket, and that one out of it.
const CLONE: &str = "
git clone -q file://$REPOSITORY cloned
git -C cloned fsck --full
git -C cloned log --all --format=%H
git -C cloned status --short
cat cloned/d*/f | cksum
git clone -q cloned $OUT
git -C $OUT fsck --full
git -C $OUT log --all --format=%H
cat $OUT/d*/f | cksum
";

#[test]
fn git_clones_into_a_bucket_and_out_of_it() {
    if !can_mount() || !have("git") {
        return;
    }
    let (place, server) = (Place::new(), server());
    let repository = place.path("from");
    let make = "
git init -q; git config user.email a@b; git config user.name a
for at in 1 2 3; do mkdir d$at; seq ${at}000 > d$at/f; git add .; git commit -qm $at; done
git tag first HEAD^; git branch other
git log --all --format=%H > ../log; cat d*/f | cksum > ../sum; cat ../log ../sum
";
    let plain = says(make, &repository);
    let mounted = Mounted::bucket(&server, &[]);
    let (repository, out) = (repository.display(), place.path("out"));
    let script = format!("REPOSITORY={repository}; OUT={}; {CLONE}", out.display());
    assert_eq!(says(&script, &mounted.at), format!("{plain}{plain}"));
    // All of it is in the bucket: whoever mounts that later has it.
    drop(mounted);
    let mounted = Mounted::bucket(&server, &["--read-only"]);
    let later = "git -C cloned fsck --full; git -C cloned log --all --format=%H; cat cloned/d*/f | cksum";
    assert_eq!(says(later, &mounted.at), plain);
}

#[test]
fn fio_finds_what_it_wrote() {
    if !can_mount() || !have("fio") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &["--memory", "8M"]);
    let job = "fio --name=f --filename=f --size=24m --bs=128k --fallocate=none --verify=crc32c --output-format=terse";
    says(&format!("{job} --rw=write --do_verify=0 --create_on_open=1"), &mounted.at);
    assert_eq!(server.get("/b/f").unwrap().len(), 24 << 20);
    // Two readers, in order and at random.
    says(&format!("{job} --rw=read & {job} --rw=randread; wait $!"), &mounted.at);
}
