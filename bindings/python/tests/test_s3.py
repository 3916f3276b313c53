"""What s3fs names, read by the package's own client."""

import contextlib
import hashlib
import http.server
import pickle
import shutil
import ssl
import subprocess
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

import pytest

import foresee
from conftest import content

fsspec, s3fs = pytest.importorskip("fsspec"), pytest.importorskip("s3fs")
A, B = content(300_000), content(200_000, 1)


class Handler(http.server.BaseHTTPRequestHandler):
    """A bucket `data`, as S3 speaks. It notes who asked for bytes."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if f"Credential={self.server.key}/" not in self.headers.get("Authorization", f"Credential={self.server.key}/"):
            return self.answer(400, b"<Error><Code>ExpiredToken</Code><Message>It has expired</Message></Error>")
        name, _, query = self.path.partition("?")
        if "list-type" in query:
            return self.list(urllib.parse.parse_qs(query).get("prefix", [""])[0])
        body = self.server.objects.get(urllib.parse.unquote(name.removeprefix("/data/")))
        if body is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if self.headers.get("If-Match", tag(body)) != tag(body):
            return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        headers = {"ETag": tag(body), "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
        if self.command == "GET":
            self.server.readers.add("s3fs" if "botocore" in self.headers["User-Agent"] else "client")
            self.server.signed.add("Authorization" in self.headers)
        if "Range" not in self.headers:
            return self.answer(200, body, headers)
        first, last = (int(it) for it in self.headers["Range"].removeprefix("bytes=").split("-"))
        last = min(last, len(body) - 1)
        self.answer(206, body[first:last + 1], headers | {"Content-Range": f"bytes {first}-{last}/{len(body)}"})

    def list(self, prefix):
        found = "".join(f"<Contents><Key>{escape(key)}</Key><LastModified>2024-01-01T00:00:00Z</LastModified>"
                        f"<ETag>{escape(tag(body))}</ETag><Size>{len(body)}</Size></Contents>"
                        for key, body in self.server.objects.items() if key.startswith(prefix))
        self.answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode())

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def tag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


@contextlib.contextmanager
def serving(context=None):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.objects, server.key = {"a": A, "b": B, "odd//name": B}, "a"
        server.readers, server.signed = set(), set()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def bucket():
    with serving() as server:
        yield server


def theirs(bucket, **options):
    said = dict(key="a", secret="b", endpoint_url=f"http://127.0.0.1:{bucket.server_port}",
                client_kwargs={"region_name": "us-east-1"}) | options
    return s3fs.S3FileSystem(skip_instance_cache=True, **said)


def ours(bucket, **options):
    return fsspec.filesystem("foresee", fs=theirs(bucket, **options), skip_instance_cache=True)


def open_file(bucket, name, **options):
    return theirs(bucket).open(name, cache_type="foresee", **options)


def test_bytes_are_read_without_s3fs(bucket):
    filesystem = ours(bucket)
    assert filesystem.cat_file("data/a") == A and filesystem.size("data/a") == len(A)
    assert {"data/a", "data/b"} < set(filesystem.ls("data", detail=False)) and filesystem.info("data/b")["size"] == len(B)
    assert filesystem.cat(["data/a", "data/b"]) == {"data/a": A, "data/b": B}
    assert pickle.loads(pickle.dumps(filesystem.open("data/b"))).read() == B
    assert bucket.readers == {"client"}
    with pytest.raises(FileNotFoundError):
        filesystem.open("data/c")


def test_open_files_are_too(bucket):
    for _ in range(2):
        with open_file(bucket, "data/a") as file:
            assert file.read(1000) == A[:1000] and file.seek(-100, 2) and file.read() == A[-100:]
    assert bucket.readers == {"client"}
    with open_file(bucket, "data/b") as file:
        bucket.objects["b"] = content(len(B), 2)
        with pytest.raises(foresee.Changed) as raised:
            file.read()
    assert raised.value.filename == "data/b"


def test_open_files_whose_requests_say_more_are_left_to_s3fs(bucket):
    with open_file(bucket, "data/a", requester_pays=True) as file:
        assert file.read() == A
    assert bucket.readers == {"s3fs"}


def test_what_is_replaced_is_noticed(bucket):
    filesystem = ours(bucket)
    with filesystem.open("data/a") as file:
        bucket.objects["a"] = as_long = content(len(A), 1)
        with pytest.raises(foresee.Changed):
            file.read()
    filesystem.invalidate_cache()
    assert filesystem.cat_file("data/a") == as_long


@pytest.mark.parametrize("options", [{"requester_pays": True}, {"config_kwargs": {"retries": {"max_attempts": 2}}},
                                     {"client_kwargs": {"region_name": "us-east-1", "use_ssl": False}}])
def test_options_that_the_client_does_not_know_are_left_to_s3fs(bucket, options):
    assert ours(bucket, **options).cat_file("data/a") == A and bucket.readers == {"s3fs"}


def test_so_are_names_that_it_does_not_know(bucket):
    assert ours(bucket).cat_file("data/odd//name") == B and bucket.readers == {"s3fs"}


def test_so_are_credentials_that_it_would_have_to_look_for(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    assert ours(bucket, key=None, secret=None).cat_file("data/a") == A and bucket.readers == {"s3fs"}


def test_whom_no_proxy_names_with_its_port_is_asked_without_one(bucket, monkeypatch):
    for name in ("HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", f"localhost,127.0.0.1:{bucket.server_port}")
    assert ours(bucket).cat_file("data/a") == A and bucket.readers == {"client"}


def test_keys_that_are_said_sign_whatever_the_environment_says(bucket, monkeypatch):
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert ours(bucket).cat_file("data/a") == A and bucket.readers == {"client"} and bucket.signed == {True}


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not here")
def test_certificates_are_trusted_that_s3fs_trusts(tmp_path, monkeypatch):
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=foresee",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(context) as server:
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        assert ours(server, endpoint_url=f"https://127.0.0.1:{server.server_port}").cat_file("data/a") == A
        assert server.readers == {"client"}


def test_a_cache_takes_the_credentials_that_are_set_once_others_have_expired(bucket, monkeypatch):
    environment = {"AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{bucket.server_port}"}
    for name, it in (environment | {"AWS_ACCESS_KEY_ID": "a"}).items():
        monkeypatch.setenv(name, it)
    cache = foresee.Cache(1 << 24)
    assert cache.open("s3://data/a").read() == A
    bucket.key = "renewed"
    with pytest.raises(PermissionError, match="ExpiredToken: It has expired") as raised:
        cache.open("s3://data/b")
    assert "renew them" in str(raised.value) and raised.value.filename == "s3://data/b"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "renewed")
    # It looks at them every five seconds.
    for _ in range(60):
        with contextlib.suppress(PermissionError):
            assert cache.open("s3://data/b").read() == B
            break
        time.sleep(0.5)
    else:
        pytest.fail("they were never taken")
