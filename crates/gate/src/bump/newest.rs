//! Chooses the version that an agent should move to.

use std::collections::BTreeSet;
use std::time::Duration;

use time::OffsetDateTime;

use super::offer::{LONGEST, Offers, SourceVersion};
use acp_registry_plan::manifest::{Channel, Version};

/// The decision for one channel of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The current version is the newest.
    UpToDate,
    /// All sources offer a newer version.
    Update(Version),
    /// There is a newer version, but it is too new or not offered by all sources.
    Held {
        /// The newer version.
        version: Version,
        /// Why it is not used yet.
        reason: HeldReason,
    },
    /// The current version is higher than all offered ones. Agents are never downgraded.
    Ahead {
        /// The highest version that all sources offer.
        newest: Version,
    },
    /// No version is offered by all sources.
    Disagree,
}

/// Why a newer version is not used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldReason {
    /// It was released too recently.
    MinAge {
        /// When it reaches the minimum age.
        until: OffsetDateTime,
    },
    /// No source states when it was released.
    UnknownAge,
    /// Some source does not offer it, or offers it with a [`Flaw`](super::Flaw).
    Incomplete,
}

/// Conditions for a version.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The channel.
    pub channel: Channel,
    /// Minimum time since its release.
    pub min_age: Duration,
    /// The current time.
    pub now: OffsetDateTime,
}

/// Chooses the highest version that all sources offer without a flaw, that is not lower than the current one, and that
/// has the minimum age.
///
/// npm's `latest` tag limits stable versions: higher ones are not chosen. The tag is ignored if it is a prerelease,
/// flawed or lower than the current version, since publishers set it wrongly in both directions.
pub fn choose(current: &Version, sources: &[Offers], policy: Policy) -> Choice {
    let ceiling = sources.iter().filter_map(|source| ceiling(source, current)).min();
    let is_allowed = |version: &Version| {
        version.as_str().len() <= LONGEST
            && is_in_channel(version, policy.channel)
            && (version.is_prerelease() || ceiling.as_ref().is_none_or(|ceiling| version <= ceiling))
    };
    let all: BTreeSet<&Version> = sources
        .iter()
        .flat_map(Offers::all)
        .map(|offer| &offer.version)
        .filter(|version| is_allowed(version))
        .collect();
    let everywhere = |version: &&&Version| sources.iter().all(|source| is_sound(source.of(version)));
    let mut held = None;
    for version in all.iter().rev().filter(everywhere) {
        if **version <= *current {
            // No usable version is newer. If the current version is the highest, a newer one may be missing from some
            // sources.
            return match held {
                Some(held) => held,
                None if **version < *current => Choice::Ahead { newest: (*version).clone() },
                None => waiting(current, &all, sources).unwrap_or(Choice::UpToDate),
            };
        }
        match age(version, sources, policy) {
            None => return Choice::Update(spelled(version, sources)),
            Some(reason) => {
                held.get_or_insert(Choice::Held { version: spelled(version, sources), reason });
            }
        }
    }
    held.unwrap_or(Choice::Disagree)
}

/// A version higher than the current one that not all sources offer without a flaw.
fn waiting(current: &Version, all: &BTreeSet<&Version>, sources: &[Offers]) -> Option<Choice> {
    let is_sound_somewhere = |version: &&&Version| sources.iter().any(|source| is_sound(source.of(version)));
    let missing = |version: &&&Version| {
        sources
            .iter()
            .any(|source| matches!(source.of(version).map(|offer| &offer.flaw), Some(Some(super::Flaw::Missing(_)))))
    };
    let mut above = all.iter().rev().take_while(|version| **version > current);
    let version = above.find(|version| is_sound_somewhere(version) || missing(version))?;
    Some(Choice::Held { version: spelled(version, sources), reason: HeldReason::Incomplete })
}

fn is_sound(offer: Option<&SourceVersion>) -> bool {
    offer.is_some_and(|offer| offer.flaw.is_none())
}

/// The version in the longest form that a source uses: `1.6.0` rather than a tag's `1.6`.
fn spelled(version: &Version, sources: &[Offers]) -> Version {
    let forms = sources.iter().filter_map(|source| source.of(version)).map(|offer| &offer.version);
    forms.max_by_key(|version| version.parts().len()).unwrap_or(version).clone()
}

fn is_in_channel(version: &Version, channel: Channel) -> bool {
    !version.is_prerelease() || (channel == Channel::Preview && version.is_numbered_preview())
}

fn ceiling(source: &Offers, current: &Version) -> Option<Version> {
    let recommended = source.recommended.as_ref()?;
    let counts = !recommended.is_prerelease() && recommended >= current && is_sound(source.of(recommended));
    counts.then(|| recommended.clone())
}

/// Why a version is too new, or `None`. The latest release date of all sources counts.
fn age(version: &Version, sources: &[Offers], policy: Policy) -> Option<HeldReason> {
    if policy.min_age.is_zero() {
        return None;
    }
    let published = sources.iter().filter_map(|source| source.of(version)?.published).max();
    let Some(published) = published else { return Some(HeldReason::UnknownAge) };
    // If the date is out of range, the age is treated as unknown, which holds the version back.
    let until = policy.min_age.try_into().ok().and_then(|age| published.checked_add(age));
    let Some(until) = until else { return Some(HeldReason::UnknownAge) };
    (until > policy.now).then_some(HeldReason::MinAge { until })
}

#[cfg(test)]
mod tests {
    use super::super::offer::{Flaw, SourceKind};
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn v(text: &str) -> Version {
        Version::parse_loose(text).unwrap()
    }

    /// Creates offers from texts: `1.0.0`, with `!` for a flaw and `@N` for an age of N days.
    fn source(kind: SourceKind, versions: &[&str], latest: Option<&str>) -> Offers {
        let offer = |text: &&str| {
            let (text, age) = text.split_once('@').map_or((*text, None), |(text, age)| (text, age.parse::<u32>().ok()));
            let name = text.trim_end_matches('!');
            SourceVersion {
                version: v(name),
                text: name.to_owned(),
                published: age.map(|days| now() - DAY * days),
                flaw: text.ends_with('!').then_some(Flaw::Deprecated),
            }
        };
        Offers::new(kind, versions.iter().map(offer), latest.map(v))
    }

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap()
    }

    fn npm(versions: &[&str], latest: Option<&str>) -> Offers {
        source(SourceKind::Npm, versions, latest)
    }

    fn github(versions: &[&str]) -> Offers {
        source(SourceKind::Github, versions, None)
    }

    fn stable(current: &str, sources: &[Offers]) -> Choice {
        choose(&v(current), sources, Policy { channel: Channel::Stable, min_age: Duration::ZERO, now: now() })
    }

    fn update(text: &str) -> Choice {
        Choice::Update(v(text))
    }

    fn incomplete(text: &str) -> Choice {
        Choice::Held { version: v(text), reason: HeldReason::Incomplete }
    }

    #[test]
    fn no_version_is_moved_down() {
        assert_eq!(stable("2.0.0", &[npm(&["1.9.0"], None)]), Choice::Ahead { newest: v("1.9.0") });
        assert_eq!(stable("2.0.0", &[npm(&["1.9.0", "2.0.0!"], None)]), Choice::Ahead { newest: v("1.9.0") });
        assert_eq!(stable("1.0.0", &[npm(&[], None)]), Choice::Disagree);
        assert_eq!(stable("1.0.0", &[npm(&["2.0.0"], None), github(&["1.0.0!"])]), Choice::Disagree);
    }

    #[test]
    fn every_source_must_have_it() {
        assert_eq!(
            stable("1.0.0", &[npm(&["1.0.0", "1.2.0"], None), github(&["1.0.0", "1.1.0"])]),
            incomplete("1.2.0")
        );
        assert_eq!(
            stable("1.0.0", &[npm(&["1.0.0", "1.1.0", "1.2.0"], None), github(&["1.0", "1.1"])]),
            update("1.1.0")
        );
        let Choice::Update(version) = stable("1.0.0", &[github(&["1.1"]), npm(&["1.1.0"], None)]) else { panic!() };
        assert_eq!(version.as_str(), "1.1.0", "as it is written in full");
    }

    #[test]
    fn the_latest_tag_bounds_the_choice_while_it_makes_sense() {
        let versions = ["1.0.0", "1.1.0", "1.2.0!", "2.0.0-beta.1", "999.0.0"];
        assert_eq!(stable("1.0.0", &[npm(&versions, Some("1.1.0"))]), update("1.1.0"));
        assert_eq!(stable("1.0.0", &[npm(&versions, Some("1.0.0"))]), Choice::UpToDate);
        for senseless in ["0.9.0", "1.2.0", "2.0.0-beta.1", "7.0.0"] {
            assert_eq!(stable("1.0.0", &[npm(&versions, Some(senseless))]), update("999.0.0"), "{senseless}");
        }
    }

    #[test]
    fn prereleases_are_for_the_preview_channel() {
        let sources = [npm(&["1.0.0", "1.1.0-preview.2", "1.1.0-preview.10", "1.2.0-beta.1", "1.0.1"], Some("1.0.1"))];
        assert_eq!(stable("1.0.0", &sources), update("1.0.1"));
        let preview = Policy { channel: Channel::Preview, min_age: Duration::ZERO, now: now() };
        assert_eq!(choose(&v("1.1.0-preview.2"), &sources, preview), update("1.1.0-preview.10"));
        let sources = [npm(&["1.1.0-preview.2", "1.1.0"], Some("1.1.0"))];
        assert_eq!(choose(&v("1.1.0-preview.2"), &sources, preview), update("1.1.0"));
    }

    #[test]
    fn a_young_version_waits_and_an_older_one_is_taken() {
        let policy = Policy { channel: Channel::Stable, min_age: DAY * 3, now: now() };
        let sources = [npm(&["1.0.0@9", "1.1.0@5", "1.2.0@1"], None)];
        assert_eq!(choose(&v("1.0.0"), &sources, policy), update("1.1.0"));
        let until = now() + DAY * 2;
        let held = Choice::Held { version: v("1.2.0"), reason: HeldReason::MinAge { until } };
        assert_eq!(choose(&v("1.1.0"), &sources, policy), held);
        let unknown = Choice::Held { version: v("1.2.0"), reason: HeldReason::UnknownAge };
        for min_age in [DAY * 3_000_000, Duration::MAX] {
            assert_eq!(choose(&v("1.1.0"), &sources, Policy { min_age, ..policy }), unknown, "{min_age:?}");
        }
        assert_eq!(choose(&v("1.1.0"), &[npm(&["1.1.0", "1.2.0"], None)], policy), unknown);
        assert_eq!(
            choose(&v("1.1.0"), &[npm(&["1.1.0", "1.2.0"], None), github(&["1.1.0@9", "1.2.0@4"])], policy),
            update("1.2.0")
        );
    }
}
