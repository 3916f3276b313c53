//! The requests in what an HTTP/1.1 client sends on one connection.

/// Longer than what any client sends before a body.
const HEAD_MAX: usize = 64 << 10;

/// Where in its requests the client is.
#[derive(Default)]
pub struct Requests {
    /// What came of the present head.
    head: Vec<u8>,
    /// What is still to come of the present body.
    body: u64,
    /// It is no HTTP, or a body of unknown length: nothing more is counted.
    lost: bool,
}

impl Requests {
    /// Reads on, and tells the method of each head that ends here.
    pub fn read(&mut self, mut bytes: &[u8], mut found: impl FnMut(&str)) {
        while !bytes.is_empty() && !self.lost {
            let body = bytes.len().min(usize::try_from(self.body).unwrap_or(usize::MAX));
            self.body -= body as u64;
            bytes = &bytes[body..];
            // A head ends somewhere in its last line, so that byte by byte is quick enough.
            while let [first, rest @ ..] = bytes
                && self.body == 0
                && !self.lost
            {
                self.head.push(*first);
                bytes = rest;
                if self.head.ends_with(b"\r\n\r\n") {
                    self.end_head(&mut found);
                } else if self.head.len() > HEAD_MAX {
                    self.lost = true;
                    return;
                }
            }
        }
    }

    fn end_head(&mut self, found: &mut impl FnMut(&str)) {
        let head = String::from_utf8_lossy(&self.head).into_owned();
        self.head.clear();
        let mut lines = head.lines();
        let method = lines.next().and_then(|line| line.split(' ').next()).unwrap_or_default();
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            self.lost = true;
            return;
        }
        found(method);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                self.body = value.trim().parse().unwrap_or(0);
            }
            self.lost |= name.eq_ignore_ascii_case("transfer-encoding");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: &[u8] = b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nPUT /b HTTP/1.1\r\ncontent-length: 22\r\n\r\n\
        DELETE / HTTP/1.1\r\n\r\n.GET /c HTTP/1.1\r\n\r\n";

    fn methods(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<String> {
        let (mut requests, mut methods) = (Requests::default(), Vec::new());
        pieces.for_each(|piece| requests.read(&piece, |method| methods.push(method.to_owned())));
        methods
    }

    #[test]
    fn requests_are_found_however_they_are_cut_and_not_in_bodies() {
        for size in 1..=SENT.len() {
            assert_eq!(methods(SENT.chunks(size).map(<[u8]>::to_vec)), ["HEAD", "PUT", "GET"], "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_http_is_not_counted() {
        assert!(methods([b"SSH-2.0-x\r\n\r\nGET / HTTP/1.1\r\n\r\n".to_vec()].into_iter()).is_empty());
    }
}
