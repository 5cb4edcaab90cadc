//! Which requests are repeated, and when.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Whether another attempt may succeed.
pub(super) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The wait after attempt number `attempt` (from 1): it doubles each time, with a random part so that many clients do
/// not retry at the same moment.
pub(super) fn backoff(first: Duration, attempt: u32) -> Duration {
    let wait = first.saturating_mul(1 << attempt.saturating_sub(1).min(10));
    wait.mul_f64(0.5 + fastrand::f64())
}

/// How long a host wants no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// `Retry-After`: the host has refused this request, and may answer others.
    Request(Duration),
    /// GitHub's rate-limit headers: all requests are refused until then.
    Host(Duration),
}

impl Pause {
    pub(super) fn wait(self) -> Duration {
        match self {
            Self::Request(wait) | Self::Host(wait) => wait,
        }
    }
}

/// The pause that a host asks for with `Retry-After` or GitHub's rate-limit headers.
pub(super) fn wanted_pause(status: StatusCode, headers: &HeaderMap) -> Option<Pause> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if text("x-ratelimit-remaining") == Some("0")
        && let Some(reset) = text("x-ratelimit-reset").and_then(|reset| reset.parse().ok())
        && let Some(reset) = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(reset))
    {
        return Some(Pause::Host(until(reset)));
    }
    retry_after(status, headers).map(Pause::Request)
}

fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if ![StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::FORBIDDEN].contains(&status) {
        return None;
    }
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match value.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => httpdate::parse_http_date(value).ok().map(until),
    }
}

fn until(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::now()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(status: u16, headers: &[(&'static str, String)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        wanted_pause(StatusCode::from_u16(status).unwrap(), &headers).map(Pause::wait)
    }

    #[test]
    fn both_forms_of_retry_after_are_read() {
        assert_eq!(pause(429, &[("retry-after", "7".into())]), Some(Duration::from_secs(7)));
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_mins(2));
        let wait = pause(503, &[("retry-after", date)]).unwrap();
        assert!((115..=120).contains(&wait.as_secs()), "{wait:?}");
        assert_eq!(pause(429, &[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT".into())]), Some(Duration::ZERO));
        for odd in ["", "soon", "-1", "1e9", "99999999999999999999999"] {
            assert_eq!(pause(429, &[("retry-after", odd.into())]), None, "{odd}");
        }
        assert_eq!(pause(200, &[("retry-after", "7".into())]), None);
    }

    #[test]
    fn an_exhausted_rate_limit_pauses_until_its_reset() {
        let reset = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() + 90;
        let headers = |remaining: &str, reset: String| {
            [("x-ratelimit-remaining", remaining.to_owned()), ("x-ratelimit-reset", reset)]
        };
        let wait = pause(403, &headers("0", reset.to_string())).unwrap();
        assert!((85..=90).contains(&wait.as_secs()), "{wait:?}");
        assert!(pause(200, &headers("0", reset.to_string())).is_some());
        assert_eq!(pause(200, &headers("1", reset.to_string())), None);
        assert_eq!(pause(403, &headers("0", u64::MAX.to_string())), None);
    }

    #[test]
    fn waits_grow_and_are_spread() {
        let first = Duration::from_secs(1);
        for attempt in 1..40 {
            let step = first * (1 << (attempt - 1u32).min(10));
            let wait = backoff(first, attempt);
            assert!(wait >= step / 2 && wait <= step * 3 / 2, "{attempt}: {wait:?}");
        }
    }
}
