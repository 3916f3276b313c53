//! A trace in pictures: the page holds what it should, and a browser shows it whole.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use foresee_sim::trace::{Format, Request, Span, Target, create};
use support::{Place, end, is_root};

/// A program that loops over one file from one call site, reads another once from a second one, at first much of it, and jumps
/// about in a third.
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
    // Of the policies drawn by default, four divide the cache.
    assert_eq!((page.matches("<svg").count(), page.matches("its partitions").count()), (8, 4));
    for text in [
        "7,201 requests",
        "References by call site",
        ">abc1<",
        "as pcc sees them",
        ">sequential<",
        ">looping<",
        "Miss ratios",
        ">opt<",
        "under arc: its partitions",
        ">T2<",
        ">HIR<",
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

    let painted = plot(&["-o", "p.html", "--png", "p.png", "-p", "lru", "-c", "100"]);
    if painted.err().contains("install DejaVu Sans") {
        eprintln!("skipped: no font to paint with");
    } else {
        painted.with(0);
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

/// Looks at every text and every shape where the browser put it. What lies outside its picture, or on another text, is told.
const LOOK: &str = r#"<script>
addEventListener("load", () => {
  const faults = [];
  let shapes = 0;
  document.querySelectorAll("svg").forEach((svg, at) => {
    const frame = svg.getBoundingClientRect();
    const inside = it => it.left >= frame.left - 1 && it.right <= frame.right + 1 && it.top >= frame.top - 1
      && it.bottom <= frame.bottom + 1;
    const texts = [...svg.querySelectorAll("text")].map(it => [it.textContent, it.getBoundingClientRect()]);
    for (const it of svg.querySelectorAll("path, polyline, polygon, circle, text")) {
      shapes += 1;
      if (!inside(it.getBoundingClientRect())) faults.push(`${at}: a ${it.tagName} lies outside: ${it.textContent}`);
    }
    texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      if (!apart) faults.push(`${at}: '${one}' lies on '${other}'`);
    }));
  });
  document.title = `looked at ${shapes}: ${faults.join("; ") || "all well"}`;
});
</script>"#;

/// Every policy that divides the cache, some of them in another's place.
const DIVIDED: &str =
    "arc,slru,2q,lirs,s3fifo,w-tinylfu,tip2,tip2-sarc,lru-sp,sarc,lru-top,readahead:keep=arc,pcc:other=arc,ubm,experts";

#[test]
fn a_browser_shows_the_page_whole() {
    let place = Place::new();
    trace(&place.path("t.parquet"));
    place.write("advice", "level 0 mru\n");
    end(place.foresee(&["plot", "t.parquet", "-p", DIVIDED, "--advice", "advice"]), b"").with(0);
    let page = fs::read_to_string(place.path("t.parquet.html")).unwrap();
    place.write("looked.html", page + LOOK);
    let browse = |browser: &str| {
        Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=1000,3000",
                "--virtual-time-budget=5000",
            ])
            .arg(format!("--user-data-dir={}", place.path("browser").display()))
            .arg("--dump-dom")
            .arg(format!("file://{}", place.path("looked.html").display()))
            .output()
    };
    let Some(shown) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|it| browse(it).ok())
    else {
        eprintln!("skipped: there is no chromium here to look with");
        return;
    };
    let dom = String::from_utf8_lossy(&shown.stdout);
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or("");
    assert!(title.starts_with("looked at ") && title.ends_with(": all well"), "{title}\n{shown:?}");
    let shapes: u32 = title["looked at ".len()..].split(':').next().unwrap().parse().unwrap();
    assert!(shapes > 100, "{title}");
}
