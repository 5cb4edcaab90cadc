//! A caching proxy in front of a store, with a clock that runs faster.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// Varnish. Other proxies count the age of a response in whole seconds.
const VARNISH: &str = "varnishd";

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) address: String,
    child: Child,
}

pub(crate) fn is_installed() -> bool {
    Command::new(VARNISH).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

impl Proxy {
    /// Starts a proxy that keeps responses as their `Cache-Control` says, divided by `faster`.
    pub(crate) fn start(folder: &Path, store: &str, faster: u64) -> Self {
        let (host, port) = store.split_once(':').expect("an address");
        let rules = format!(
            "vcl 4.1;\n\
             backend default {{ .host = \"{host}\"; .port = \"{port}\"; }}\n\
             sub vcl_recv {{ set req.url = \"/bucket/latest\" + req.url; }}\n\
             sub vcl_backend_response {{\n\
               set beresp.ttl = beresp.ttl / {faster};\n\
               set beresp.grace = beresp.grace / {faster};\n\
               # What has expired is kept, and asked for with its validators.\n\
               set beresp.keep = 1h;\n\
             }}\n"
        );
        let file = folder.join("rules.vcl");
        fs::write(&file, rules).expect("rules");
        // The port may be taken by another program in the meantime, which shows at once.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("its address").to_string();
        drop(free);
        let mut command = Command::new(VARNISH);
        command.args(["-F", "-a", &address, "-s", "malloc,1g", "-p", "default_grace=0", "-n"]);
        command.arg(folder.join("varnish")).arg("-f").arg(&file);
        let log = fs::File::create(folder.join("varnish.log")).expect("a log");
        let child = command.stdout(Stdio::null()).stderr(log).spawn().expect("a proxy");
        let proxy = Self { address, child };
        for _ in 0..300 {
            if TcpStream::connect(&proxy.address).is_ok() {
                return proxy;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("{VARNISH} has not started: {}", fs::read_to_string(folder.join("varnish.log")).unwrap_or_default());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its own worker ends with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
