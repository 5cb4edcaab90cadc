//! An agent that tries to reach what is outside its network namespace: `network PORT NAME [INSIDE]`. `PORT` is a port of
//! the host, `NAME` an abstract Unix socket of the host, and `INSIDE` a port of the namespace.

use std::fs;
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixStream};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::agent::{good, serve};

const WAIT: Duration = Duration::from_secs(2);

pub(super) fn run(arguments: &[String]) {
    let port = |at: usize| arguments.get(at).and_then(|port| port.parse::<u16>().ok());
    let (host, name) = (port(1).unwrap(), &arguments[2]);
    let tcp = |address: SocketAddr| TcpStream::connect_timeout(&address, WAIT).map(drop);
    let udp = |address: SocketAddr| {
        let any: SocketAddr =
            if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        UdpSocket::bind(any)?.send_to(b"x", address).map(drop)
    };
    let inside = port(3).map(|port| {
        let mut text = String::new();
        let read = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), WAIT);
        read.and_then(|stream| stream.take(100).read_to_string(&mut text)).map_or_else(told, |_| text)
    });
    let outside = (Ipv4Addr::new(192, 0, 2, 1), 443).into();
    let outside_v6 = (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 443).into();
    let unix = UnixAddr::from_abstract_name(name).and_then(|address| UnixStream::connect_addr(&address)).map(drop);
    let mut result = good();
    result["agentInfo"] = json!({
        "host_tcp": outcome(tcp((Ipv4Addr::LOCALHOST, host).into())),
        "host_tcp_v6": outcome(tcp((Ipv6Addr::LOCALHOST, host).into())),
        "host_unix": outcome(unix),
        "outside_tcp": outcome(tcp(outside)),
        "outside_udp": outcome(udp(outside)),
        "outside_tcp_v6": outcome(tcp(outside_v6)),
        "outside_udp_v6": outcome(udp(outside_v6)),
        // A datagram to an unused port is no error. Whether it arrives is up to the test.
        "host_udp": outcome(udp((Ipv4Addr::LOCALHOST, host).into())),
        "inside": inside,
        "packets": packets(&fs::read_to_string("/proc/self/net/dev").unwrap()),
        "capabilities": capabilities(),
    });
    serve(&result);
}

fn outcome(result: io::Result<()>) -> String {
    result.map_or_else(told, |()| "reached".to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err` and the like")]
fn told(error: io::Error) -> String {
    format!("{:?}", error.kind())
}

/// Received and sent packets of each interface.
fn packets(table: &str) -> Map<String, Value> {
    let interfaces = table.lines().skip(2).filter_map(|line| line.split_once(':'));
    let count = |(name, numbers): (&str, &str)| {
        let numbers: Vec<u64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        (name.trim().to_owned(), json!(numbers[1] + numbers[9]))
    };
    interfaces.map(count).collect()
}

/// The effective capabilities, as the system prints them.
fn capabilities() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim().to_owned()
}
