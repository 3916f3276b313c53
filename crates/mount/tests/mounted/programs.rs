//! Programs that people have read what is mounted as they read what it is of.

use std::fs;
use std::process::Command;

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount, have, server};
use crate::process::end;

/// What this script prints in a directory.
fn says(script: &str, directory: &std::path::Path) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(directory).env("LC_ALL", "C").env("GIT_CONFIG_GLOBAL", "/dev/null");
    end(command, b"").with(0).out()
}

/// What is in a directory, as objects of a bucket.
fn put_all(server: &crate::server::Server, directory: &std::path::Path, begin: &str) {
    for entry in fs::read_dir(directory).unwrap().map(|it| it.unwrap()) {
        let key = format!("{begin}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => put_all(server, &entry.path(), &key),
            false => server.put(&key, fs::read(entry.path()).unwrap()),
        }
    }
}

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
    let made = "
import sqlite3, subprocess, tarfile, zipfile
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
";
    let from = place.path("from");
    fs::write(place.path("made.py"), made).unwrap();
    says("python3 ../made.py", &from);
    let read = "
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
    fs::write(place.path("read.py"), read).unwrap();
    let read = place.path("read.py").display().to_string();
    let scratch = place.path("scratch");
    let scripts = [
        format!("python3 {read}"),
        "grep -rn needle tree | sort; grep -rc line tree/text | sort | tail -3".to_owned(),
        "find tree -type f | sort | xargs md5sum; tar cf - tree/text | tar tf - | sort".to_owned(),
        format!(
            "rm -rf {0}; git clone -q repository {0}; git -C {0} log --format=%s; cat {0}/file* | md5sum",
            scratch.display()
        ),
        "git -C repository fsck --full 2>&1 | sort; git -C repository log --format=%H".to_owned(),
    ];
    let plain: Vec<_> = scripts.iter().map(|script| says(script, &from)).collect();
    let server = server();
    put_all(&server, &from, "/b");
    let directory = Mounted::directory(place, &["--memory", "8M"]);
    let bucket = Mounted::bucket(&server, &["--memory", "8M"]);
    for (script, plain) in scripts.iter().zip(&plain) {
        assert_eq!(says(script, &directory.at), *plain, "{script}");
        // A repository has empty directories, which objects cannot have.
        if !script.contains("git") {
            assert_eq!(says(script, &bucket.at), *plain, "{script}");
        }
    }
    assert_eq!(says(&format!("diff -r {} .", directory.place.path("from").display()), &directory.at), "");
}
