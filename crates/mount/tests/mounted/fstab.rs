//! mount(8) and a line of fstab(5) mount it, and umount(8) ends it: in a namespace of their own,
//! which goes with all that is in it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::place::{Place, can_mount, server};
use crate::process::{end, have};

/// mount(8) looks for helpers there alone.
const SCRIPT: &str = "
mount -t tmpfs none /sbin
ln -s $PROGRAM /sbin/mount.foresee
ended() { until ! kill -0 $(cat process) 2> /dev/null; do sleep 0.01; done; }
mount -t foresee $PWD/from $PWD/at -o ro,noatime,memory=16MiB,deadline=30,log=$PWD/log
cat at/a
findmnt -no FSTYPE,SOURCE $PWD/at
pgrep -f mount.foresee > process
if touch at/new 2> /dev/null; then exit 9; fi
umount $PWD/at
ended
owned=allow_other,uid=1000,gid=1001,file-mode=640,dir-mode=750
echo \"s3://b $PWD/at foresee noauto,_netdev,$owned,environment=$PWD/environment 0 0\" > fstab
mount -T fstab $PWD/at
cat at/a
stat -c '%u %g %a' at at/a
setpriv --reuid=1000 --regid=1001 --clear-groups sh -c 'echo new > at/new && stat -c %u at/new'
pgrep -f mount.foresee > process
umount $PWD/at
ended
if mount -t foresee $PWD/from $PWD/at -o memroy=1G; then exit 9; fi
mount -f -t foresee $PWD/from $PWD/at
echo $PWD/from $PWD/at foresee defaults 0 0 > fstab
mount -f -v -T fstab -a > said
ls at
mount -n -v -t foresee $PWD/from $PWD/at -o sync,dirsync,mand,iversion,nodev,silent,nofail,shared > said
cat at/a
findmnt -no PROPAGATION $PWD/at
pgrep -f mount.foresee > process
umount $PWD/at
ended
";

#[test]
fn mount_and_a_line_of_fstab_mount_it() {
    if !can_mount() || !["findmnt", "pgrep", "setpriv"].iter().all(|it| have(it)) {
        return;
    }
    let (place, server) = (Place::new(), server());
    place.write("a", "of a directory\n");
    server.put("/b/a", *b"of a bucket\n");
    let credentials = "AWS_ACCESS_KEY_ID=me\nAWS_SECRET_ACCESS_KEY=mine\nAWS_REGION=here\n";
    fs::write(place.path("environment"), format!("AWS_ENDPOINT_URL={}\n{credentials}", server.url())).unwrap();
    let Some(ended) = place.unshared(SCRIPT) else { return };
    let ended = ended.with(0);
    let from = place.path("from").display().to_string();
    let shape = "1000 1001 750\n1000 1001 640\n1000\n";
    let again = "of a directory\nshared\n";
    assert_eq!(ended.out(), format!("of a directory\nfuse.foresee {from}\nof a bucket\n{shape}{again}"));
    assert!(ended.err().contains("there is no option memroy=1G"), "{ended:?}");
    assert!(fs::read_to_string(place.path("log")).unwrap().contains("until foresee unmount"));
    assert_eq!(server.get("/b/new").unwrap()[..], *b"new\n");
}

#[test]
fn who_calls_the_helper_by_hand_is_told_how() {
    let called = |name: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foresee-mount"));
        command.arg0(name).args(words);
        end(command, b"")
    };
    for name in ["mount.foresee", "/sbin/mount.fuse.foresee"] {
        for word in ["--help", "-h"] {
            assert!(called(name, &[word]).with(0).out().starts_with("usage: mount.foresee SOURCE DIR"));
        }
        assert!(called(name, &["-x"]).with(2).err().contains("what is -x? usage: mount.foresee SOURCE DIR"));
    }
}
