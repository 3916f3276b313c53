"""A directory by HTTP as WebDAV servers list it, by one that keeps to ranges, or knows none, or says wrong lengths."""

import http.server
import sys
import urllib.parse
from email.utils import formatdate
from pathlib import Path
from xml.sax.saxutils import escape

KINDS = ("ranges", "no ranges", "wrong lengths")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def path_of(self):
        return self.server.root / urllib.parse.unquote(self.path.split("?")[0]).strip("/")

    def respond(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_PROPFIND(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path_of()
        if not path.exists():
            return self.respond(404)
        names = [path, *sorted(path.iterdir())] if path.is_dir() else [path]
        entries = "".join(self.entry(it) for it in names)
        body = f'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">{entries}</D:multistatus>'.encode()
        return self.respond(207, body, Content_Type="application/xml")

    def entry(self, path):
        found, is_directory = path.stat(), path.is_dir()
        relative = path.relative_to(self.server.root).as_posix().strip(".")
        href = "/" + urllib.parse.quote(relative) + ("/" if is_directory and relative else "")
        kind = "<D:collection/>" if is_directory else ""
        return (f"<D:response><D:href>{escape(href)}</D:href><D:propstat><D:prop><D:resourcetype>{kind}</D:resourcetype>"
                f"<D:getcontentlength>{found.st_size}</D:getcontentlength><D:getetag>{self.tag(found)}</D:getetag>"
                f"<D:getlastmodified>{formatdate(found.st_mtime, usegmt=True)}</D:getlastmodified></D:prop>"
                "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>")

    @staticmethod
    def tag(found):
        return f'"{found.st_mtime_ns:x}"'

    def do_GET(self):
        path = self.path_of()
        if not path.is_file():
            return self.respond(404)
        body, found = path.read_bytes(), path.stat()
        headers = {"ETag": self.tag(found), "Last_Modified": formatdate(found.st_mtime, usegmt=True)}
        wanted = self.headers.get("Range")
        if wanted is None or self.server.kind == "no ranges":
            return self.respond(200, body, **headers)
        first, last = wanted.removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last or len(body)), len(body) - 1)
        if first >= len(body):
            return self.respond(416)
        part = body[first:last + 1]
        if self.server.kind == "wrong lengths":
            part = part[:len(part) * 2 // 3]
        return self.respond(206, part, Content_Range=f"bytes {first}-{last}/{len(body)}", **headers)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def main():
    root, port, kind = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.root, server.kind = Path(root), kind
    server.serve_forever()


if __name__ == "__main__":
    main()
