//! Which addresses belong to the public network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is reachable from everywhere: neither private, loopback, link-local, shared, multicast,
/// documentation, benchmarking nor reserved (the IANA special-purpose address registries).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        0 | 10 | 127 | 224..=255 => true,
        100 => b & 0xc0 == 64,
        169 => b == 254,
        172 => b & 0xf0 == 16,
        192 => (b == 0 && (c == 0 || c == 2)) || (b == 88 && c == 99) || b == 168,
        198 => b & 0xfe == 18 || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An address that contains an IPv4 address is public if that one is.
    let embedded = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    if let Some(v4) = address.to_ipv4_mapped() {
        return is_public_v4(v4);
    }
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0x0..=0x1ff | 0xdb8, ..] | [0x3fff, 0x0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "0.0.0.0", "10.1.2.3", "127.0.0.1", "127.255.0.9", "100.64.0.1", "100.127.255.255", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
            "198.51.100.7", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1",
            "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::",
            "3fff::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "5f00::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn ordinary_addresses_are_public() {
        for address in [
            "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1", "223.255.255.1",
            "2606:4700::1111", "2001:4860:4860::8888", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
