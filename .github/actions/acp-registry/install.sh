#!/usr/bin/env bash
# Installs acp-registry for the following steps: built from the sources beside this action, or from a release. GitHub must
# attest that the release workflow of its repository built that release from the tag of this version.
set -euo pipefail

fail() {
  echo "::error::$1"
  exit 1
}

root=$(cd "$(dirname "$0")/../../.." && pwd)
place=${RUNNER_TEMP:?}/acp-registry
mkdir -p "$place/bin"

setting() {
  [ ! -f "$root/.github/acp-registry.env" ] || sed -n "s/^$1=//p" "$root/.github/acp-registry.env" | tr -d '\r' | head -n 1
}

if [ -z "${VERSION:-}" ] && grep -qs '^name = "acp-registry"$' "$root/Cargo.toml"; then
  cargo install --quiet --locked --path "$root" --root "$place"
else
  repository=${REPOSITORY:-$(setting REPOSITORY)}
  repository=${repository:-${ACTION_REPOSITORY:-}}
  version=${VERSION:-$(setting VERSION)}
  [[ $repository =~ ^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$ ]] || fail "say in .github/acp-registry.env where releases of acp-registry are: REPOSITORY=OWNER/NAME"
  [[ $version =~ ^v[0-9A-Za-z.+-]+$ ]] || fail "say in .github/acp-registry.env which release of acp-registry is used: VERSION=v1.0.0"
  case ${RUNNER_OS:?}-${RUNNER_ARCH:?} in
    Linux-X64) platform=linux-x86_64 ;;
    Linux-ARM64) platform=linux-aarch64 ;;
    macOS-X64) platform=darwin-x86_64 ;;
    macOS-ARM64) platform=darwin-aarch64 ;;
    Windows-X64) platform=windows-x86_64 ;;
    Windows-ARM64) platform=windows-aarch64 ;;
    *) fail "there is no release of acp-registry for $RUNNER_OS on $RUNNER_ARCH" ;;
  esac
  ending=tar.gz
  [ "$RUNNER_OS" != Windows ] || ending=zip
  archive=$RUNNER_TEMP/acp-registry-${version#v}-$platform.$ending
  address=${GITHUB_SERVER_URL:?}/$repository/releases/download/$version/$(basename "$archive")
  curl --fail --silent --show-error --location --proto =https --retry 3 --output "$archive" "$address"
  # Archives of other versions are attested as well, but for their own tags.
  gh attestation verify "$archive" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" --source-ref "refs/tags/$version"
  if [ "$ending" = zip ]; then
    unzip -q -o "$archive" -d "$place/bin"
  else
    tar -xzf "$archive" -C "$place/bin"
  fi
  installed=$("$place/bin/acp-registry" --version)
  [ "$installed" = "acp-registry ${version#v}" ] || fail "the archive of $version holds $installed"
fi
echo "$place/bin" >> "${GITHUB_PATH:?}"
