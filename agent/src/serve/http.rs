//! As much of HTTP/1.1 as static files need (RFC 9112): GET and HEAD, one
//! request per connection.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Longest request head, in bytes.
const LONGEST_HEAD: usize = 8 << 10;
/// Most connections served at once; more are closed unanswered.
const MOST_CONNECTIONS: usize = 64;
/// How long a connection may take to say something, or to take the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The headers that keep the page to itself. The page has the same policy in
/// a meta element, for hosts that send no headers; `frame-ancestors` works
/// only here.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
X-Content-Type-Options: nosniff\r\n\
Referrer-Policy: no-referrer\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cache-Control: no-cache\r\n\
Connection: close\r\n";

/// Answers requests until the listener fails.
///
/// `content` gives a file by its path below the root, `index.html` for the
/// root itself.
///
/// # Errors
/// The listener cannot accept.
pub(super) fn serve(
    listener: &TcpListener,
    content: fn(&str) -> Option<&'static [u8]>,
) -> io::Result<()> {
    static OPEN: AtomicUsize = AtomicUsize::new(0);
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // The other side gave up before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error),
        };
        if OPEN.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        thread::spawn(move || {
            // A connection that breaks has nobody to tell.
            answer(stream, content).ok();
            OPEN.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn answer(mut stream: TcpStream, content: fn(&str) -> Option<&'static [u8]>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = read_head(&mut stream)?;
    let response = respond(&head, content);
    stream.write_all(&response)?;
    stream.flush()
}

/// Reads up to the empty line that ends the head.
fn read_head(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST_HEAD {
        match stream.read(&mut part)? {
            0 => break,
            count => head.extend_from_slice(part.get(..count).unwrap_or_default()),
        }
    }
    Ok(head)
}

/// The whole response to a request's head.
fn respond(head: &[u8], content: fn(&str) -> Option<&'static [u8]>) -> Vec<u8> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let complete = request.parse(head).is_ok_and(|status| status.is_complete());
    let (Some(method), Some(target), true) = (request.method, request.path, complete) else {
        return response("400 Bad Request", "text/plain", b"not a request\n", true);
    };
    let body = match method {
        "GET" => true,
        "HEAD" => false,
        _ => return response("405 Method Not Allowed", "text/plain", b"GET or HEAD\n", true),
    };
    let path = target.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match content(path) {
        Some(bytes) => response("200 OK", media_type(path), bytes, body),
        None => response("404 Not Found", "text/plain", b"no such file\n", body),
    }
}

fn response(status: &str, media_type: &str, content: &[u8], body: bool) -> Vec<u8> {
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n{HEADERS}\r\n",
        content.len()
    )
    .into_bytes();
    if body {
        text.extend_from_slice(content);
    }
    text
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: &str) -> String {
        let content: fn(&str) -> Option<&'static [u8]> = |path| match path {
            "index.html" => Some(b"<p>hello"),
            "a/b.wasm" => Some(b"\0asm"),
            _ => None,
        };
        String::from_utf8(respond(head.as_bytes(), content)).unwrap()
    }

    #[test]
    fn files_are_served_with_type_and_policy() {
        let root = text("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(root.starts_with("HTTP/1.1 200 OK\r\n"), "{root}");
        assert!(root.contains("Content-Type: text/html; charset=utf-8\r\n"), "{root}");
        assert!(root.contains("frame-ancestors 'none'"), "{root}");
        assert!(root.ends_with("\r\n\r\n<p>hello"), "{root}");
        let module = text("GET /a/b.wasm?v=1 HTTP/1.1\r\n\r\n");
        assert!(module.contains("Content-Type: application/wasm\r\n"), "{module}");
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let root = text("HEAD / HTTP/1.1\r\n\r\n");
        assert!(root.contains("Content-Length: 8\r\n"), "{root}");
        assert!(root.ends_with("\r\n\r\n"), "{root}");
    }

    #[test]
    fn what_is_not_served_is_refused() {
        assert!(text("GET /../etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(text("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(text("GET / HTTP/1.1\r\n").starts_with("HTTP/1.1 400"));
        assert!(text("").starts_with("HTTP/1.1 400"));
        assert!(text("\u{0}\u{1}\r\n\r\n").starts_with("HTTP/1.1 400"));
    }

    #[test]
    fn a_head_without_end_is_cut_off() {
        let mut endless = io::repeat(b'a');
        assert!(read_head(&mut endless).unwrap().len() <= LONGEST_HEAD + 1024);
    }
}
