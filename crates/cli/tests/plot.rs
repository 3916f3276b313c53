//! A trace in pictures: the page holds what it should, and a browser shows it whole.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use foresee_sim::trace::{Format, Request, Span, Target, create};
use support::library::gcc;
use support::{Place, end, have, is_root};

/// A program that loops over one file from one call site, reads another once from a second one, at
/// first much of it, and jumps about in a third.
fn trace(path: &Path) {
    const MUCH: u64 = 120_000;
    let format: &'static Format = "recorded".parse().unwrap();
    let mut writer = create(Target::create(path).unwrap(), format, 4096).unwrap();
    let names = ["/data/looped <&> \"quoted\"", "/data/once", "/data/about"];
    let mut push = |file: u32, index: u64, count: u64| {
        let span = Span::Range { offset: index * 4096, length: count * 4096 };
        let request =
            Request { file, span, site: 0xabc0 + u64::from(file), process: 7, thread: 7, ..Request::default() };
        writer.push(&request, names[file as usize]).unwrap();
    };
    push(1, 0, MUCH);
    for pass in 0..8 {
        for index in 0..300 {
            push(0, index, 1);
            push(1, MUCH + pass * 300 + index, 1);
            push(2, (index * index * 7 + pass) % 97, 1);
        }
    }
    writer.finish().unwrap();
}

#[test]
fn a_page_shows_references_patterns_ratios_and_partitions() {
    let place = Place::new();
    trace(&place.path("t.parquet"));
    let plot = |words: &[&str]| end(place.foresee(&[&["plot", "t.parquet"], words].concat()), b"");
    plot(&[]).with(0);
    let page = fs::read_to_string(place.path("t.parquet.html")).unwrap();
    // Of the policies drawn by default, four divide the cache; the part of lirs that is not LIR is too
    // thin to be seen.
    assert_eq!((page.matches("<svg").count(), page.matches("its partitions").count()), (7, 3));
    assert!(!page.contains("under lirs: its partitions"));
    for text in [
        "7,201 requests",
        "References by call site",
        ">reads once<",
        "as pcc sees them",
        ">sequential<",
        ">looping<",
        "Miss ratios",
        ">opt<",
        "under arc: its partitions",
        ">T2<",
        "The files referenced most",
        "/data/looped &lt;&amp;&gt; &quot;quoted&quot;",
    ] {
        assert!(page.contains(text), "no '{text}' in the page");
    }
    // What was read once is seen to be sequential, what was read again and again to be a loop.
    let row = |file: &str| page.split("<tr>").find(|row| row.contains(file)).unwrap().to_owned();
    let share = |row: &str, nth: usize| {
        let cell = row.split("<td>").nth(nth).unwrap().split(" %").next().unwrap();
        cell.parse::<f64>().unwrap_or_else(|_| panic!("{cell} in {row}"))
    };
    assert!(share(&row("/data/once"), 4) > 80.0 && share(&row("/data/looped"), 5) > 60.0, "{page}");
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count());

    // With advice, those who advise are told apart; where nobody does, there is nothing to divide.
    place.write("advice", "level 0 mru\n");
    for (words, partitions) in [(&["-p", "lru,lru-sp"][..], 0), (&["-p", "lru,lru-sp", "--advice", "advice"], 1)] {
        plot(words).with(0);
        let page = fs::read_to_string(place.path("t.parquet.html")).unwrap();
        assert_eq!(page.matches("under lru-sp: its partitions").count(), partitions);
        assert_eq!(page.matches(">reader 0<").count(), partitions);
    }

    fs::remove_file(place.path("t.parquet.html")).unwrap();
    let alone = plot(&["--png", "alone.png", "-p", "lru", "-c", "100"]);
    assert!(!place.path("t.parquet.html").exists(), "a page nobody asked for: {alone:?}");
    let painted = plot(&["-o", "p.html", "--png", "p.png", "-p", "lru", "-c", "100"]);
    if painted.err().contains("install DejaVu Sans") {
        eprintln!("skipped: no font to paint with");
    } else {
        painted.with(0);
        assert!(place.path("p.html").exists() && place.path("alone.png").exists());
        assert!(fs::read(place.path("p.png")).unwrap().starts_with(b"\x89PNG"));
    }
    for (words, named) in [
        (&["-o", "/no/such/place/p.html"][..], "/no/such/place/p.html"),
        (&["-p", "best"], "there is no policy 'best'"),
        (&["--png", "/no/such/place.png"], "/no/such/place.png"),
    ] {
        assert!(plot(words).with(2).err().contains(named), "{words:?}");
    }
    place.write("empty.trc", "*\n");
    let empty = end(place.foresee(&["plot", "empty.trc", "--format", "blocks"]), b"").with(2);
    assert!(empty.err().contains("empty.trc: holds no request"), "{empty:?}");
}

#[test]
fn pictures_that_say_nothing_are_left_out() {
    let place = Place::new();
    // Each block once, in no order: no cache saves anything, there is no pattern, and one part holds
    // all of a cache.
    place.write("once.trc", (0..600_u64).map(|at| format!("{}\n", at * 7_919 % 10_007)).collect::<String>());
    let words = ["plot", "once.trc", "--format", "blocks", "-p", "lru,arc,ubm"];
    end(place.foresee(&words), b"").with(0);
    let page = fs::read_to_string(place.path("once.trc.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 1, "{page}");
    assert!(page.contains("no cache, of whatever size and policy") && page.contains("of one pattern: other"));
}

#[test]
fn call_sites_go_by_what_they_read() {
    let place = Place::new();
    let format: &'static Format = "recorded".parse().unwrap();
    let mut writer = create(Target::create(&place.path("t.parquet")).unwrap(), format, 4096).unwrap();
    let files = ["/data/index", "/data/table", "/data/log"];
    // Of each site: the files it reads, each more often than the next.
    let sites: [(u64, &[u32]); 4] = [(0xbeef, &[0, 1]), (0xcafe, &[1]), (0xfeed, &[1]), (0xdead, &[2, 1, 0])];
    for (site, read) in sites {
        for (nth, &file) in read.iter().enumerate() {
            for index in 0..40 - 10 * nth as u64 {
                let span = Span::Range { offset: index * 4096, length: 4096 };
                let request = Request { file, span, site, process: 7, thread: 7, ..Request::default() };
                writer.push(&request, files[file as usize]).unwrap();
            }
        }
    }
    writer.finish().unwrap();
    end(place.foresee(&["plot", "t.parquet", "-p", "lru"]), b"").with(0);
    let page = fs::read_to_string(place.path("t.parquet.html")).unwrap();
    for name in ["reads index and 1 more", "reads table", "reads table, site 2", "reads log and 2 more"] {
        assert!(page.contains(&format!(">{name}<")), "no '{name}'");
    }
    assert!(["beef", "cafe", "feed", "dead"].iter().all(|number| !page.contains(number)), "{page}");
}

/// A program's functions, and where it has no symbols, places in it.
#[test]
fn call_sites_go_by_what_lies_there_as_well() {
    if !have("gcc") {
        return;
    }
    let place = Place::new();
    fs::write(place.path("index"), vec![7; 8192]).unwrap();
    for (options, lies) in [(&[][..], ": main"), (&["-s"], "+0x")] {
        gcc(&place, &place.path("reader"), &[&["crates/cli/tests/programs/reader.c"], options].concat());
        let words = ["record", "-o", "t", "--", "./reader", "index", "p0:4096", "r4096", "p4096:4096", "p0:4096"];
        end(place.foresee(&words), b"").with(0);
        end(place.foresee(&["plot", "t", "-p", "lru"]), b"").with(0);
        let page = fs::read_to_string(place.path("t.html")).unwrap();
        let named: Vec<&str> = page.split('>').filter(|text| text.starts_with(&format!("reader{lies}"))).collect();
        assert!(named.len() > 1 && named.iter().all(|text| text.contains(" reads index")), "{named:?}: {page}");
        let explained =
            end(place.foresee(&["explain", "t", "-p", "lru", "-c", "10", "--block", "index:1"]), b"").with(0).out();
        assert!(explained.contains(&format!(" at reader{lies}")), "{explained}");
    }
}

#[test]
fn a_full_disk_has_no_half_of_a_page() {
    let place = Place::new();
    trace(&place.path("t.parquet"));
    let small = place.aside("small");
    fs::create_dir(&small).unwrap();
    let small = small.to_str().unwrap();
    if !is_root()
        || end(place.plain(&["mount", "-t", "tmpfs", "-o", "size=16k", "small", small]), b"").how != "status 0"
    {
        eprintln!("skipped: no small file system can be mounted");
        return;
    }
    let full = end(place.foresee(&["plot", "t.parquet", "-p", "lru", "-o", &format!("{small}/p.html")]), b"").with(2);
    assert!(full.err().contains("/p.html: No space left"), "{full:?}");
    assert_eq!(fs::read_dir(small).unwrap().count(), 0, "half a page is left");
    end(place.plain(&["umount", small]), b"").with(0);
}

/// Tells what is wrong with the page that it is in.
const LOOK: &str = include_str!("support/look.js");

/// The page in a narrow window and in a wide one; what is told of both becomes the title.
const BOTH: &str = r#"<!DOCTYPE html><title>nothing told</title>
<script>
const told = [];
addEventListener("message", it => { told.push(it.data); document.title = told.sort().join("\n"); });
</script>
<iframe src="looked.html" width="360" height="800"></iframe><iframe src="looked.html" width="1000" height="800"></iframe>"#;

/// Every policy that divides the cache, some of them in another's place.
const DIVIDED: &str =
    "arc,slru,2q,lirs,s3fifo,w-tinylfu,tip2,tip2-sarc,lru-sp,sarc,lru-top,readahead:keep=arc,pcc:other=arc,ubm,experts";

#[test]
fn a_browser_shows_the_page_whole_and_readable_in_any_window_light_and_dark() {
    let place = Place::new();
    trace(&place.path("t.parquet"));
    place.write("advice", "level 0 mru\n");
    end(place.foresee(&["plot", "t.parquet", "-p", DIVIDED, "--advice", "advice"]), b"").with(0);
    let page = fs::read_to_string(place.path("t.parquet.html")).unwrap();
    place.write("looked.html", format!("{page}<script>{LOOK}</script>"));
    place.write("both.html", BOTH);
    for (scheme, number) in [("dark", 0), ("light", 1)] {
        let Some(shown) = browsed(&place, &[&format!("--blink-settings=preferredColorScheme={number}")]) else {
            eprintln!("skipped: there is no browser to look with; Debian's package is chromium");
            return;
        };
        assert!(!String::from_utf8_lossy(&shown.stderr).contains(":CONSOLE"), "{shown:?}");
        let dom = String::from_utf8_lossy(&shown.stdout);
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or("");
        let told: Vec<&str> = title.lines().collect();
        assert_eq!(told.len(), 2, "{scheme}: {title}\n{shown:?}");
        for (window, told) in ["1000", "360"].into_iter().zip(told) {
            let shapes = told.strip_prefix(&format!("{window} {scheme} ")).and_then(|it| it.strip_suffix(": all well"));
            assert!(shapes.is_some_and(|it| it.parse::<u32>().unwrap() > 100), "{window} {scheme}: {told}");
        }
    }
}

/// What a browser says of both windows; None if there is no browser.
fn browsed(place: &Place, settings: &[&str]) -> Option<Output> {
    let browse = |browser: &str| {
        Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--allow-file-access-from-files", "--window-size=1500,1000", "--virtual-time-budget=5000"])
            .args(settings)
            .arg(format!("--user-data-dir={}", place.path("browser").display()))
            .arg("--dump-dom")
            .arg(format!("file://{}", place.path("both.html").display()))
            .output()
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|it| browse(it).ok())
}
