//! Limits the requests to each host, and says which of them are repeated, and when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::Problem;

/// Limits for one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// How many requests run at once.
    pub concurrency: usize,
    /// How long after one request the next may begin.
    pub interval: Duration,
    /// The longest pause that a host may ask for; if it asks for a longer one, its requests fail.
    pub patience: Duration,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self { concurrency: 64, interval: Duration::from_millis(1), patience: Duration::from_mins(1) }
    }
}

/// How many requests run at once before the host has answered for the first time. More would open connections in vain
/// if the host does not answer, or lets all requests share one.
const FIRST: usize = 8;

/// After how many refusals in a row, each for longer than a request waits, a host gets no more requests.
const REFUSALS: u32 = 3;

/// All hosts spoken to.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    limits: HostLimits,
    by_name: Mutex<HashMap<String, Arc<HostQueue>>>,
}

impl Hosts {
    pub(super) fn new(limits: HostLimits) -> Self {
        Self { limits, by_name: Mutex::default() }
    }

    /// The host of an address; each port and protocol is its own.
    pub(super) fn of(&self, url: &Url) -> Arc<HostQueue> {
        let name = url.origin().ascii_serialization();
        let mut hosts = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.entry(name).or_insert_with(|| Arc::new(HostQueue::new(self.limits))).clone()
    }
}

/// One host: its queue and its state.
#[derive(Debug)]
pub(super) struct HostQueue {
    limits: HostLimits,
    permits: Arc<Semaphore>,
    state: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    /// When the next request may begin.
    next: Instant,
    /// The end of the pause that the host has asked for.
    paused_until: Instant,
    /// Permits that are added when the host answers for the first time.
    held_back: usize,
    /// How many requests in a row it has refused for longer than they wait.
    refusals: u32,
    /// The error of the last attempts, if the host has not answered since.
    down: Option<Problem>,
}

impl HostQueue {
    fn new(limits: HostLimits) -> Self {
        let now = Instant::now();
        let concurrency = limits.concurrency.max(1);
        let first = concurrency.min(FIRST);
        Self {
            limits,
            permits: Arc::new(Semaphore::new(first)),
            state: Mutex::new(Pace {
                next: now,
                paused_until: now,
                held_back: concurrency - first,
                refusals: 0,
                down: None,
            }),
        }
    }

    /// Waits until a request may be sent; it counts as running until the permit is dropped.
    pub(super) async fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|error| Problem::Connection(error.to_string()))?;
        loop {
            let (until, is_turn) = self.turn()?;
            sleep_until(until).await;
            if is_turn {
                return Ok(permit);
            }
        }
    }

    /// When to go on, and whether that is with the request; if not, with asking again.
    fn turn(&self) -> Result<(Instant, bool), Problem> {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(problem) = &state.down {
            return Err(problem.clone());
        }
        let pause = state.paused_until.saturating_duration_since(now);
        if pause > self.limits.patience {
            return Err(Problem::RateLimited { wait: pause });
        }
        if !pause.is_zero() {
            return Ok((state.paused_until, false));
        }
        let start = state.next.max(now);
        state.next = start + self.limits.interval;
        Ok((start, true))
    }

    /// Holds back requests for the pause that the host has asked for. If the pause is too long, only this request
    /// fails; after several such refusals in a row, the others are held back as well. Returns whether the pause is
    /// short enough to wait for.
    pub(super) fn asks_for(&self, pause: Pause) -> bool {
        // A value from a host must not overflow the clock.
        let wait = pause.wait().min(Duration::from_hours(24 * 365));
        let can_wait = wait <= self.limits.patience;
        let mut state = self.state();
        if !can_wait && matches!(pause, Pause::Request(_)) {
            state.refusals += 1;
            if state.refusals < REFUSALS {
                return false;
            }
        }
        state.paused_until = state.paused_until.max(Instant::now() + wait);
        can_wait
    }

    /// The host has answered; `is_willing` unless it has refused because of too many requests.
    pub(super) fn answered(&self, is_willing: bool) {
        let mut state = self.state();
        state.down = None;
        if is_willing {
            state.refusals = 0;
        }
        self.permits.add_permits(std::mem::take(&mut state.held_back));
    }

    /// The host could not be reached in several attempts: further requests would only take time.
    pub(super) fn went_down(&self, problem: &Problem) {
        self.state().down = Some(problem.clone());
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Pace> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
        // GitHub counts requests by kind: what limits those of GraphQL does not limit others.
        let is_for_all = text("x-ratelimit-resource").is_none_or(|kind| kind == "core");
        return Some(if is_for_all { Pause::Host } else { Pause::Request }(until(reset)));
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

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(future)
    }

    #[test]
    fn a_pause_holds_back_every_request_and_a_long_one_refuses_them() {
        block_on(async {
            let host = HostQueue::new(HostLimits::default());
            assert!(host.asks_for(Pause::Request(Duration::from_secs(7))));
            let before = Instant::now();
            drop(host.enter().await.unwrap());
            assert_eq!(before.elapsed().as_secs(), 7);
            assert!(!host.asks_for(Pause::Host(Duration::from_hours(1))));
            assert!(matches!(host.enter().await, Err(Problem::RateLimited { .. })));
            assert!(!host.asks_for(Pause::Host(Duration::MAX)));
        });
    }

    #[test]
    fn one_refusal_holds_back_no_other_request_and_several_in_a_row_do() {
        block_on(async {
            let host = HostQueue::new(HostLimits::default());
            let refuse = || {
                host.answered(false);
                assert!(!host.asks_for(Pause::Request(Duration::from_hours(1))));
            };
            for _ in 0..10 {
                refuse();
                refuse();
                let before = Instant::now();
                drop(host.enter().await.unwrap());
                assert!(before.elapsed() < Duration::from_secs(1));
                host.answered(true);
            }
            (0..REFUSALS).for_each(|_| refuse());
            assert!(matches!(host.enter().await, Err(Problem::RateLimited { .. })));
        });
    }

    #[test]
    fn no_more_requests_run_at_once_than_allowed() {
        block_on(async {
            let host = HostQueue::new(HostLimits { concurrency: 1, ..HostLimits::default() });
            let first = host.enter().await.unwrap();
            assert!(tokio::time::timeout(Duration::from_secs(5), host.enter()).await.is_err());
            drop(first);
            drop(host.enter().await.unwrap());
        });
    }

    #[test]
    fn the_first_answer_opens_the_queue() {
        block_on(async {
            let host = HostQueue::new(HostLimits { concurrency: 20, ..HostLimits::default() });
            let mut permits = Vec::new();
            for answered in [false, true, true] {
                if answered {
                    host.answered(true);
                }
                while let Ok(permit) = tokio::time::timeout(Duration::from_secs(1), host.enter()).await {
                    permits.push(permit.unwrap());
                }
                assert_eq!(permits.len(), if answered { 20 } else { FIRST });
            }
        });
    }

    #[test]
    fn requests_keep_their_distance() {
        block_on(async {
            let host = HostQueue::new(HostLimits { interval: Duration::from_secs(2), ..HostLimits::default() });
            let before = Instant::now();
            for _ in 0..4 {
                drop(host.enter().await.unwrap());
            }
            assert_eq!(before.elapsed().as_secs(), 6);
        });
    }

    #[test]
    fn a_host_that_is_down_is_not_asked_again_until_it_answers() {
        block_on(async {
            let host = HostQueue::new(HostLimits::default());
            host.went_down(&Problem::NoSuchHost);
            assert_eq!(host.enter().await.err(), Some(Problem::NoSuchHost));
            host.answered(true);
            assert!(host.enter().await.is_ok());
        });
    }

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
        for (kind, is_for_all) in [("core", true), ("graphql", false)] {
            let limit = headers("0", reset.to_string()).into_iter().chain([("x-ratelimit-resource", kind.to_owned())]);
            let headers = limit.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            let pause = wanted_pause(StatusCode::FORBIDDEN, &headers);
            assert_eq!(matches!(pause, Some(Pause::Host(_))), is_for_all, "{kind}: {pause:?}");
        }
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
