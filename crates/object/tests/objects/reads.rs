//! What is opened, listed and read, and what is said if it is not.

use std::io::{BufRead, BufReader, ErrorKind, IoSliceMut, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::bytes::bytes;
use foresee::store::{Error as StoreError, Listed, Object, Store, Version};
use foresee::{Cache, Error, File};
use foresee_object::ObjectStore;
use foresee_object_server::{Faults, Server, Versions};

const BLOCK: u64 = 4096;

fn quiet(versions: Versions) -> Server {
    Server::new(versions, Faults::default())
}

fn s3(server: &Server) -> ObjectStore {
    let signed = ObjectStore::s3().set("access_key_id", "me").set("secret_access_key", "mine");
    signed.set("endpoint", &server.url()).set("region", "here").deadline(Duration::from_secs(60))
}

fn over(store: ObjectStore) -> Cache {
    Cache::builder().memory(1 << 20).block_bytes(BLOCK as usize).store("s3", Arc::new(store)).open().unwrap()
}

fn read(file: &File, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
    let mut buffer = vec![0; len];
    let came = file.read_at(&mut buffer, offset)?;
    buffer.truncate(came);
    Ok(buffer)
}

/// Caches, what their addresses begin with, and a key as each has it. S3 always has tags.
fn addresses(server: &Server, versions: Versions) -> Vec<(Cache, String, &'static str)> {
    let plain = (Cache::builder().block_bytes(BLOCK as usize).open().unwrap(), server.url(), "a%20key/100%25");
    let signed = (over(s3(server)), "s3:/".to_owned(), "a key/100%");
    if versions == Versions::Times { vec![plain] } else { vec![plain, signed] }
}

fn gets(server: &Server) -> usize {
    server.asked().iter().filter(|line| line.starts_with("GET")).count()
}

#[test]
fn an_address_is_opened_as_a_file_is() {
    for versions in [Versions::Tags, Versions::IgnoredTags, Versions::Times] {
        let server = quiet(versions);
        server.put("/b/a key/100%", bytes("a", 1, 10 * BLOCK + 7));
        server.put("/b/empty", Vec::new());
        for (cache, begin, key) in addresses(&server, versions) {
            let file = cache.open(&format!("{begin}/b/{key}")).unwrap();
            assert_eq!(file.len(), 10 * BLOCK + 7);
            assert_eq!(read(&file, 0, 50 * BLOCK as usize).unwrap(), bytes("a", 1, 10 * BLOCK + 7), "{versions:?}");
            assert_eq!(read(&file, 10 * BLOCK + 5, 9).unwrap().len(), 2);
            assert_eq!(read(&cache.open(&format!("{begin}/b/empty")).unwrap(), 0, 10).unwrap(), b"");
        }
    }
}

#[test]
fn what_begins_so_is_listed_page_by_page() {
    let server = quiet(Versions::Tags);
    for key in ["day/1", "day/12", "day/13/x", "day/2", "other", "day/14"] {
        server.put(&format!("/b/{key}"), key.as_bytes());
    }
    let cache = over(s3(&server));
    let names = |prefix| -> Vec<_> { cache.list(prefix).unwrap().into_iter().map(|it| (it.name, it.size)).collect() };
    let expected = [("s3://b/day/1", 5), ("s3://b/day/12", 6), ("s3://b/day/13/x", 8), ("s3://b/day/14", 6)];
    assert_eq!(names("s3://b/day/1"), expected.map(|(name, size)| (name.to_owned(), size)));
    assert_eq!(names("s3://b/").len(), 6);
    assert_eq!(names("s3://b").len(), 6);
    assert_eq!(read(&cache.open(expected[2].0).unwrap(), 0, 9).unwrap(), b"day/13/x");
}

/// What lies in a folder, page by page: objects, and folders.
fn folder(cache: &Cache, address: &str) -> (Vec<Listed>, Vec<String>) {
    let (mut objects, mut folders, mut next) = (Vec::new(), Vec::new(), None);
    loop {
        let page = cache.folder(address, next.as_deref()).unwrap();
        objects.extend(page.objects);
        folders.extend(page.folders);
        next = page.next;
        if next.is_none() {
            return (objects, folders);
        }
    }
}

#[test]
fn what_lies_below_a_slash_is_a_folder_and_what_is_listed_is_opened_without_a_question() {
    let server = quiet(Versions::Tags);
    for key in ["a", "d-1", "d/1", "d/2", "d/e/3", "d/e<&>", "d/", "\u{e9} %/x"] {
        server.put(&format!("/b/{key}"), key.as_bytes());
    }
    let cache = over(s3(&server));
    let (objects, folders) = folder(&cache, "s3://b/");
    assert_eq!(objects.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["s3://b/a", "s3://b/d-1"]);
    assert_eq!(folders, ["s3://b/d", "s3://b/\u{e9} %"]);
    let (objects, folders) = folder(&cache, "s3://b/d/");
    // Not the folder itself, which was made as an object.
    assert_eq!(objects.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["s3://b/d/1", "s3://b/d/2", "s3://b/d/e<&>"]);
    assert_eq!(folders, ["s3://b/d/e"]);
    let before = server.asked().len();
    let file = cache.open_listed(&objects[2]).unwrap();
    assert_eq!(server.asked().len(), before);
    assert_eq!(read(&file, 0, 6).unwrap(), b"d/e<&>");
    assert_eq!(file.version(), cache.open(&objects[2].name).unwrap().version());
    let listed = objects[0].clone();
    server.put("/b/d/1", *b"other");
    let error = read(&cache.open_listed(&listed).unwrap(), 0, 3).unwrap_err();
    assert!(matches!(error, Error::Store { error: StoreError::Changed, .. }), "{error}");
    server.remove("/b/d/2");
    let error = read(&cache.open_listed(&objects[1]).unwrap(), 0, 3).unwrap_err();
    assert!(matches!(error, Error::Store { error: StoreError::NotFound, .. }), "{error}");
}

#[test]
fn keys_that_are_no_paths_keep_no_others_from_being_listed() {
    let server = quiet(Versions::Tags);
    for key in ["a", "d/", "d//b", "d/../a", "d/./c", "d/e", "/f", "g\u{1}", "h//"] {
        server.put(&format!("/b/{key}"), key.as_bytes());
    }
    let cache = over(s3(&server));
    let listed = cache.list("s3://b/").unwrap();
    assert_eq!(listed.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["s3://b/a", "s3://b/d/e"]);
    let names = |address| {
        let (objects, folders) = folder(&cache, address);
        (objects.into_iter().map(|it| it.name).collect::<Vec<_>>(), folders)
    };
    assert_eq!(names("s3://b/"), (vec!["s3://b/a".into()], vec!["s3://b/d".into(), "s3://b/h".into()]));
    assert_eq!(names("s3://b/d/"), (vec!["s3://b/d/e".into()], vec![]));
    for one in listed {
        let key = one.name.strip_prefix("s3://b/").unwrap();
        assert_eq!(read(&cache.open_listed(&one).unwrap(), 0, 9).unwrap(), key.as_bytes());
    }
}

#[test]
fn what_is_written_is_there_as_a_whole_or_not_at_all() {
    let server = quiet(Versions::Tags);
    let cache = over(s3(&server));
    for size in [0, 10, 8 << 20, (20 << 20) + 7] {
        let (address, expected) = (format!("s3://b/new {size}"), bytes("new", 1, size));
        let mut upload = cache.create(&address).unwrap();
        expected.chunks(1_000_003).for_each(|part| upload.write(part).unwrap());
        assert!(server.get(&format!("/b/new {size}")).is_none());
        upload.finish().unwrap();
        assert!(server.get(&format!("/b/new {size}")).unwrap()[..] == expected);
        // In the place of what is there, which stays where the new one is given up.
        let mut upload = cache.create(&address).unwrap();
        upload.write(&bytes("other", 2, 9 << 20)).unwrap();
        drop(upload);
        assert!(server.get(&format!("/b/new {size}")).unwrap()[..] == expected);
    }
    assert!(server.unfinished() == 0, "parts are left");
    cache.rename("s3://b/new 10", "s3://b/d/other").unwrap();
    assert!(server.get("/b/new 10").is_none() && server.get("/b/d/other").unwrap().len() == 10);
    assert!(cache.rename("s3://b/none", "s3://b/d/other").is_err());
    assert_eq!(server.get("/b/d/other").unwrap().len(), 10);
    cache.remove("s3://b/d/other").unwrap();
    assert!(server.get("/b/d/other").is_none());
    assert!(cache.rename("s3://b/new 0", "s3://other/x").is_err());
    server.refuse_writes(true);
    let error = cache.create("s3://b/x").unwrap().finish().unwrap_err().to_string();
    assert!(error.contains("no right to read or write s3://b"), "{error}");
    assert!(cache.remove("s3://b/new 0").is_err() && server.get("/b/new 0").is_some());
    assert!(Cache::builder().open().unwrap().create(&format!("{}/x", server.url())).is_err());
}

#[test]
fn who_has_a_version_open_never_gets_bytes_of_another() {
    for versions in [Versions::Tags, Versions::IgnoredTags, Versions::Times] {
        let server = quiet(versions);
        for (cache, begin, key) in addresses(&server, versions) {
            server.put("/b/a key/100%", bytes("a", 1, 20 * BLOCK));
            let address = format!("{begin}/b/{key}");
            let before = cache.open(&address).unwrap();
            let here = read(&before, 0, BLOCK as usize).unwrap();
            server.put("/b/a key/100%", bytes("a", 2, 20 * BLOCK));
            let error = read(&before, 16 * BLOCK, 1).unwrap_err();
            assert!(matches!(error, Error::Store { error: StoreError::Changed, .. }), "{versions:?}: {error}");
            assert_eq!(error.to_string(), format!("{address}: it changed since it was opened"));
            assert_eq!(read(&before, 0, BLOCK as usize).unwrap(), here);
            let after = cache.open(&address).unwrap();
            assert_eq!(read(&after, 0, 20 * BLOCK as usize).unwrap(), bytes("a", 2, 20 * BLOCK));
        }
    }
}

#[test]
fn what_says_of_no_version_is_refused() {
    let server = quiet(Versions::None);
    server.put("/a", *b"abc");
    let cache = Cache::builder().open().unwrap();
    let error = cache.open(&format!("{}/a", server.url())).map(drop).unwrap_err().to_string();
    let parts = ["neither its ETag nor when it was changed last", "or it is a folder"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn what_does_not_exist_or_may_not_be_read_is_an_error_at_once() {
    let server = quiet(Versions::Tags);
    server.put("/b/a", *b"abc");
    let cache = over(s3(&server));
    let said = |address: &str| cache.open(address).map(drop).unwrap_err().to_string();
    for (address, parts) in [
        ("s3://absent/a", &["there is no bucket s3://absent", "its name", "endpoint"][..]),
        (
            "s3://closed/a",
            &[
                "no right to read or write s3://closed",
                "AWS_ACCESS_KEY_ID",
                "AWS_REQUEST_PAYER",
                "AccessDenied: as it is)",
            ],
        ),
        ("s3://elsewhere/a", &["s3://elsewhere is in another region", "AWS_REGION"]),
        ("s3://misplaced/a", &["s3://misplaced is in another region", "AWS_REGION"]),
        ("s3://punctual/a", &["s3://punctual", "clock is wrong"]),
        ("s3:///a", &["names no bucket"]),
        ("s3://b", &["s3://b is a bucket and no object", "list"]),
        ("s3://b/", &["s3://b is a bucket and no object", "list"]),
        ("s3://b//a", &["s3://b//a", "empty parts"]),
        ("gs://b/a", &["GOOGLE_APPLICATION_CREDENTIALS"]),
    ] {
        let error = said(address);
        assert!(parts.iter().all(|part| error.contains(part)), "{address}: {error}");
    }
    assert_eq!(said("s3://b/none"), "s3://b/none: there is no such object");
    let asked = server.asked();
    assert!(asked.len() == 6, "some of it was tried again: {asked:?}");
    assert!(cache.remove("s3://b/").unwrap_err().to_string().contains("is a bucket"), "it is the bucket itself");
    // What is known to be there is not looked at twice.
    cache.open("s3://b/a").unwrap();
    let before = server.asked().len();
    assert_eq!(said("s3://b/none"), "s3://b/none: there is no such object");
    assert_eq!(server.asked().len(), before + 1);
}

#[test]
fn a_name_and_a_password_are_sent_to_no_server_and_not_shown() {
    let cache = Cache::builder().open().unwrap();
    let said = |address: &str| {
        let errors =
            [cache.open(address).map(drop), cache.list(address).map(drop), cache.folder(address, None).map(drop)];
        errors.map(|it| it.unwrap_err().to_string())
    };
    for address in ["http://me:mine@localhost/a/", "http://me:mi/mine@localhost/a", "http://me:mi?mine@localhost/a"] {
        for error in said(address) {
            assert!(error.contains("leave out what stands before the @") && !error.contains("mi"), "{error}");
        }
    }
    for address in ["http://localhost/a?X-Amz-Signature=mine", "http://localhost?mine", "http://localhost/a#mine"] {
        for error in said(address) {
            assert!(error.contains("a query are not served") && !error.contains("mine"), "{error}");
        }
    }
    let host = answers(vec!["401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(); 3]);
    for error in said(&format!("http://{host}/a")) {
        assert!(error.contains("does not let this be read") && !error.contains("; set"), "{error}");
    }
}

#[test]
fn a_small_object_takes_one_request_and_an_empty_one_is_empty() {
    for versions in [Versions::Tags, Versions::Times] {
        let server = quiet(versions);
        for (cache, begin, _) in addresses(&server, versions) {
            let requests = |key: &str, size: u64| {
                server.put(&format!("/b/{key}"), bytes(key, 1, size));
                let before = server.asked().len();
                let file = cache.open(&format!("{begin}/b/{key}")).unwrap();
                assert_eq!(file.len(), size);
                assert!(read(&file, 0, size as usize).unwrap() == bytes(key, 1, size));
                server.asked().len() - before
            };
            let small = 32 << 10;
            assert_eq!((requests("a", 1), requests("b", small - 1), requests("c", small)), (1, 1, 1), "{versions:?}");
            assert_eq!(requests("none", 0), 2, "the first bytes, of which there are none");
            assert_eq!(requests("large", small + 1), 2, "the first bytes, and the rest");
            assert_eq!((requests("d", 5), requests("e", 5)), (2, 1), "what came after a large one, and after a small");
        }
    }
}

#[test]
fn who_does_not_answer_head_is_asked_by_get() {
    for status in ["405 Method Not Allowed", "501 Not Implemented", "403 Forbidden", "400 Bad Request", "200 OK"] {
        let server = quiet(Versions::Tags);
        server.answer_head(status);
        for (key, size) in [("small", 100), ("large", 40_000), ("empty", 0)] {
            server.put(&format!("/b/{key}"), bytes(key, 1, size));
        }
        for (cache, begin, _) in addresses(&server, Versions::Tags) {
            let opened = |key: &str| cache.open(&format!("{begin}/b/{key}")).map(|it| it.len());
            for _ in 0..2 {
                assert_eq!(opened("large").unwrap(), 40_000, "{status}");
                // It is not known whether the next is small.
                assert_eq!(opened("small").unwrap(), 100, "{status}");
                assert_eq!(opened("large").unwrap(), 40_000, "{status}");
                assert_eq!(opened("empty").unwrap(), 0, "{status}");
                assert_eq!(opened("large").unwrap(), 40_000, "{status}");
                let error = opened("none").unwrap_err();
                assert!(matches!(error, Error::Store { error: StoreError::NotFound, .. }), "{status}: {error}");
            }
            let (asked, now) = (server.asked(), cache.version(&format!("{begin}/b/small")).unwrap());
            assert_eq!(now, *cache.open(&format!("{begin}/b/small")).unwrap().version());
            let heads = asked.iter().filter(|line| line.starts_with("HEAD") && !line.contains("foresee")).count();
            assert!(heads <= 2, "{status}: it is tried once by each cache: {asked:?}");
        }
    }
}

#[test]
fn a_list_whose_bytes_cannot_be_told_apart_is_asked_for_again() {
    const GARBLED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length of a chunk\r\n";
    const LIST: &str = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let whole = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{LIST}", LIST.len());
    thread::spawn(move || {
        for answer in [GARBLED, GARBLED, &whole] {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let store = ObjectStore::s3().set("access_key_id", "me").set("secret_access_key", "mine");
    let store = store.set("endpoint", &url).set("region", "here").deadline(Duration::from_secs(60));
    assert_eq!(store.list("b/").unwrap().len(), 0);
}

/// An HTTP server that gives one answer, and what it was asked. Nobody listens after that: who asks again has another
/// error, after the deadline.
fn answers_once(answer: String) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let request: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        write!(stream, "HTTP/1.1 {answer}").unwrap();
        request.join("\n")
    });
    (host, asked)
}

#[test]
fn a_server_that_lists_nothing_is_asked_once() {
    let nothing = "501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let (host, asked) = answers_once(nothing.to_owned());
    let error = ObjectStore::http().list(&format!("{host}/")).unwrap_err().to_string();
    assert!(error.contains("WebDAV") && asked.join().unwrap().starts_with("PROPFIND"), "{error}");
}

#[test]
fn a_folder_of_a_host_is_listed_by_the_address_that_it_was_asked_for_by() {
    // What begins alike is beside it: not every server lists no more than it is asked for.
    let paths = ["a%20dir/", "a%20dir/%C3%BC%25", "a%20dir/sub/", "a%20dirt", "a%20dir2/x"];
    let entry = |path: &str| {
        let kind = if path.ends_with('/') { "<D:collection/>" } else { "" };
        format!(
            "<D:response><D:href>/{path}</D:href><D:propstat><D:prop><D:resourcetype>{kind}</D:resourcetype>\
             <D:getcontentlength>1</D:getcontentlength><D:getetag>1</D:getetag>\
             <D:getlastmodified>Wed, 01 Jan 2025 00:00:00 GMT</D:getlastmodified></D:prop>\
             <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        )
    };
    let list = format!("<D:multistatus xmlns:D=\"DAV:\">{}</D:multistatus>", paths.map(entry).concat());
    let answer = format!("207 Multi-Status\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{list}", list.len());
    for folder in ["a%20dir", "a dir"] {
        let (host, asked) = answers_once(answer.clone());
        let found = ObjectStore::http().folder(&format!("{host}/{folder}/"), None).unwrap();
        assert!(asked.join().unwrap().starts_with("PROPFIND /a%20dir "));
        let names: Vec<_> = found.objects.into_iter().map(|it| it.name).collect();
        assert_eq!(names, [format!("{host}/{folder}/\u{fc}%25")]);
        assert_eq!(found.folders, [format!("{host}/{folder}/sub")]);
        let (host, asked) = answers_once(answer.clone());
        let found = ObjectStore::http().list(&format!("{host}/{folder}/")).unwrap();
        assert!(asked.join().unwrap().starts_with("PROPFIND /a%20dir "));
        assert_eq!(found.into_iter().map(|it| it.name).collect::<Vec<_>>(), [format!("{host}/{folder}/\u{fc}%25")]);
    }
}

/// An HTTP server that gives these answers, one by one.
fn answers(all: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for answer in all {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let _ = write!(stream, "HTTP/1.1 {answer}");
        }
    });
    host
}

#[test]
fn a_folder_that_a_server_does_not_find_is_not_there() {
    let host = answers(vec!["404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(); 2]);
    let store = ObjectStore::http();
    assert!(matches!(store.folder(&format!("{host}/typo/"), None), Err(StoreError::NotFound)));
    assert_eq!(store.list(&format!("{host}/typo/")).unwrap().len(), 0);
    // Of hosts whole folders come, so nothing is asked.
    let error = store.folder(&format!("{host}/typo/"), Some("2")).unwrap_err();
    assert!(error.to_string().starts_with("there is no page '2'"), "{error}");
}

#[test]
fn an_azures_object_is_found_by_its_own_name() {
    let blob = |name: &str| {
        format!(
            "<Blob><Name>{name}</Name><Properties><Last-Modified>Wed, 01 Jan 2025 00:00:00 GMT</Last-Modified>\
             <Etag>0x1</Etag><Content-Length>1</Content-Length><Content-Type>text/plain</Content-Type></Properties></Blob>"
        )
    };
    let names = ["d/a&amp;b c", "d/a&amp;b c-", "d/a&amp;b c//e"].map(blob).concat();
    // As Azure's begin.
    let list = format!(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>{names}</Blobs><NextMarker/>\
         </EnumerationResults>"
    );
    let answer = format!("200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{list}", list.len());
    let store = || {
        let (host, asked) = answers_once(answer.clone());
        let store = ObjectStore::azure().set("account_name", "me").set("account_key", "bWluZQ==");
        (store.set("endpoint", &format!("http://{host}")), asked)
    };
    let is_found = |listed: Vec<Listed>| {
        assert_eq!(listed.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["b/d/a&b c", "b/d/a&b c-"]);
    };
    let (by_folder, asked) = store();
    is_found(by_folder.folder("b/d/a&b c", None).unwrap().objects);
    let asked = asked.join().unwrap();
    assert!(asked.contains("prefix=d") && asked.contains("delimiter="), "{asked}");
    is_found(store().0.list("b/d/a&b c").unwrap());
}

#[test]
fn a_list_that_goes_in_circles_is_an_error() {
    let list = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>\
                </ListBucketResult>";
    let page = format!("200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{list}", list.len());
    let store = || {
        let store = ObjectStore::s3().set("access_key_id", "me").set("secret_access_key", "mine").set("region", "here");
        // Nobody answers who asks for a third page.
        store.set("endpoint", &format!("http://{}", answers(vec![page.clone(); 2]))).deadline(Duration::from_secs(5))
    };
    let by_folder = store();
    let next = by_folder.folder("b/", None).unwrap().next;
    for error in [store().list("b/").unwrap_err(), by_folder.folder("b/", next.as_deref()).unwrap_err()] {
        assert!(error.to_string().contains("s3://b lists in circles"), "{error}");
    }
}

#[test]
fn parts_whose_length_only_their_range_says_are_read() {
    let part = |how: &str, body: &str| {
        let head = "206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 0-4/5\r\nConnection: close";
        format!("{head}{how}\r\n\r\n{body}")
    };
    let read = |object: &dyn Object| {
        let mut bytes = [0; 5];
        let (came, _) = object.read(0, &mut [IoSliceMut::new(&mut bytes)]).unwrap();
        assert_eq!((object.size(), &bytes[..came]), (5, &b"bytes"[..]));
    };
    for (how, body) in [("\r\nTransfer-Encoding: chunked", "5\r\nbytes\r\n0\r\n\r\n"), ("", "bytes")] {
        let host = answers(vec![part(how, body)]);
        let object = ObjectStore::http().deadline(Duration::from_secs(60)).open(&format!("{host}/a")).unwrap();
        read(&*object);
    }
    // Who knows from a list how long the whole is need not be told again.
    let host = answers(vec![part("", "bytes").replace("0-4/5", "0-4/*")]);
    let (version, modified) = (Some(Version::Tag("1".into())), Some(SystemTime::UNIX_EPOCH));
    let listed = Listed { name: format!("{host}/a"), size: 5, version, modified };
    read(&*ObjectStore::http().deadline(Duration::from_secs(60)).open_listed(&listed).unwrap());
}

#[test]
fn the_rest_of_a_part_that_ends_too_early_is_asked_for() {
    let part = |range: &str, body: &str| {
        let length = body.len();
        format!(
            "206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes {range}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
    };
    let store = ObjectStore::http().deadline(Duration::from_secs(60));
    let host = answers(vec![part("0-1/5", "by"), part("2-3/5", "te"), part("4-4/5", "s")]);
    let object = store.open(&format!("{host}/a")).unwrap();
    let (mut bytes, mut came) = ([0; 5], 0);
    while came < bytes.len() {
        let (more, _) = object.read(came as u64, &mut [IoSliceMut::new(&mut bytes[came..])]).unwrap();
        assert!(more <= 2);
        came += more;
    }
    assert_eq!(&bytes, b"bytes");
    // Which bytes of it are meant nobody knows.
    let host = answers(vec![part("0-1/5", "byt")]);
    let error = store.open(&format!("{host}/a")).map(drop).unwrap_err().to_string();
    assert!(error.contains("other parts of files than it is asked for"), "{error}");
}

#[test]
fn settings_that_there_are_not_are_named() {
    let store = ObjectStore::s3().set("no_such_setting", "1");
    let error = store.open("b/a").map(drop).unwrap_err().to_string();
    assert!(error.contains("s3://b") && error.contains("no_such_setting"), "{error}");
}

#[test]
fn a_proxy_that_is_away_is_named() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let store = ObjectStore::http().set("proxy_url", &format!("http://me:mine@{proxy}"));
    let error = store.deadline(Duration::from_millis(500)).open("localhost:1/a").map(drop).unwrap_err().to_string();
    let named = format!("by the proxy {proxy} that proxy_url names: Connection refused");
    assert!(error.contains(&named) && !error.contains("mine"), "{error}");
}

#[test]
fn where_nobody_gives_credentials_out_they_are_asked_for() {
    // A port where nobody listens, in the place of who gives them out on machines of a cloud.
    let store = ObjectStore::s3().set("metadata_endpoint", "http://127.0.0.1:9").deadline(Duration::from_millis(300));
    let error = store.open("b/a").map(drop).unwrap_err().to_string();
    assert!(error.contains("no credentials for s3://b") && error.contains("AWS_SKIP_SIGNATURE"), "{error}");
}

#[test]
fn what_must_be_signed_is_where_somebody_can_and_else_refused() {
    // Who signs is the service's own machine, if this is one: no word of it comes so early.
    let store = || ObjectStore::gcs().set("skip_signature", "yes").deadline(Duration::from_millis(1));
    let error = store().create("b/a").map(drop).unwrap_err();
    assert!(matches!(&error, StoreError::Io(it) if it.kind() == ErrorKind::PermissionDenied), "{error}");
    let said = error.to_string();
    assert!(said.contains("GOOGLE_SKIP_SIGNATURE is set: set GOOGLE_APPLICATION_CREDENTIALS as well"), "{said}");
    let key = r#"{"private_key": "", "private_key_id": "", "client_email": "me", "disable_oauth": true}"#;
    assert!(store().set("service_account_key", key).create("b/a").is_ok());
}

#[test]
fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let server = quiet(Versions::Tags);
    server.put("/b/a", bytes("a", 1, 20 * BLOCK));
    let cache = over(s3(&server).deadline(Duration::from_millis(500)));
    let file = cache.open("s3://b/a").unwrap();
    server.go_away(true);
    assert!(matches!(read(&file, 16 * BLOCK, 1), Err(Error::Store { error: StoreError::Io(_), .. })));
    let error = cache.open("s3://b/a").map(drop).unwrap_err().to_string();
    let parts = ["s3://b was not asked", "no answer within the deadline of 500ms"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    server.go_away(false);
    // Who asks at once has the same answer; nothing of it is remembered for longer.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(read(&file, 0, 20 * BLOCK as usize).unwrap(), bytes("a", 1, 20 * BLOCK));
}

#[test]
fn a_server_that_is_away_for_some_seconds_stalls_its_readers_and_loses_nothing() {
    away_for(Duration::from_secs(3));
}

#[test]
#[ignore = "takes a minute and some seconds"]
fn a_server_that_is_away_for_a_minute_stalls_its_readers_and_loses_nothing() {
    away_for(Duration::from_secs(60));
}

/// The server goes away while readers read what a plan has ahead, and comes back.
fn away_for(long: Duration) {
    let server = quiet(Versions::Tags);
    server.put("/b/a", bytes("a", 1, 600 * BLOCK));
    // The deadline that there is unless one is said.
    let cache = over(s3(&server).deadline(Duration::from_secs(120)));
    let file = cache.open("s3://b/a").unwrap();
    let mut plan = cache.plan();
    plan.file(&file).unwrap();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..4u64)
            .map(|reader| {
                let file = &file;
                scope.spawn(move || {
                    for block in (0..150).map(|block| block + reader * 150) {
                        let came = read(file, block * BLOCK, BLOCK as usize).unwrap();
                        assert!(
                            came == bytes("a", 1, (block + 1) * BLOCK)[(block * BLOCK) as usize..],
                            "block {block}"
                        );
                    }
                })
            })
            .collect();
        while gets(&server) < 3 {
            thread::yield_now();
        }
        server.go_away(true);
        thread::sleep(long);
        server.go_away(false);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
