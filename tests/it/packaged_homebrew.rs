//! The formula for Homebrew.

use std::fs;
use std::process::Command;

use crate::packaged::{VERSION, has, packages, platform};
use crate::packaged_recipes::{archive, made, release};
use crate::support::{Run, skipped};

/// In place of Homebrew: prints what a formula states for the platform in the environment, and fails for a missing file.
const BREW: &str = r##"
class Place
  def install(*all)
    files = all.flat_map { |one| one.is_a?(Hash) ? one.keys : one }
    abort "nothing to install" if files.empty?
    files.each { |file| File.file?(file) or abort "no #{file}" }
  end
end

class Formula
  def self.method_missing(name, *values, &block)
    return puts("#{name} #{values.join(" ")}") unless name.to_s.start_with?("on_")
    block.call if [ENV["SYSTEM"], ENV["MACHINE"]].include?(name.to_s)
  end
  def self.test; end
  def method_missing(_) = Place.new
end
"##;

#[test]
fn the_formula_names_the_archive_of_each_platform() {
    const TEST: &str = "the_formula_names_the_archive_of_each_platform";
    if !has("ruby", TEST) {
        return;
    }
    let Some(env) = made(&["homebrew"], TEST) else { return };
    env.write("brew.rb", BREW);
    let unpack = format!("mkdir packed && tar -xzf archives/acp-registry-{VERSION}-linux-x86_64.tar.gz -C packed");
    assert!(Command::new("sh").args(["-c", &unpack]).current_dir(env.path("")).status().unwrap().success());
    for (system, machine, name) in [
        ("on_macos", "on_arm", "darwin-aarch64"),
        ("on_macos", "on_intel", "darwin-x86_64"),
        ("on_linux", "on_arm", "linux-aarch64"),
        ("on_linux", "on_intel", "linux-x86_64"),
    ] {
        let mut ruby = Command::new("ruby");
        ruby.args(["-w", "-r../brew.rb", "-r../packages/acp-registry.rb", "-e", "AcpRegistry.new.install"]);
        let run = Run::of(ruby.env("SYSTEM", system).env("MACHINE", machine).current_dir(env.path("packed")));
        let (url, digest) = archive(&env, name);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
        assert!(run.stdout.contains(&format!("url {url}\nsha256 {digest}\n")), "{name}: {}", run.stdout);
        assert_eq!(run.stdout.matches("url ").count(), 1, "{}", run.stdout);
        assert!(run.stdout.contains("license Apache-2.0\n"), "{}", run.stdout);
    }
}

/// Installs the formula with a copy of Homebrew in a prefix of its own, without its list of formulae.
const HOMEBREW: &str = r#"
set -eu
repository=$(brew --repository)
mkdir -p home brew/bin
git clone --quiet "$repository" brew/Homebrew
ln -s ../Homebrew/bin/brew brew/bin/brew
for tap in homebrew/homebrew-core o/homebrew-tap; do
  mkdir -p "brew/Homebrew/Library/Taps/$tap/Formula"
  git -C "brew/Homebrew/Library/Taps/$tap" init --quiet
done
cp packages/acp-registry.rb brew/Homebrew/Library/Taps/o/homebrew-tap/Formula
export HOME="$PWD/home" PATH="$PWD/brew/bin:$repository/Library/Homebrew/vendor/portable-ruby/current/bin:$PATH"
export HOMEBREW_NO_AUTO_UPDATE=1 HOMEBREW_NO_INSTALL_FROM_API=1 HOMEBREW_NO_ANALYTICS=1 HOMEBREW_USE_RUBY_FROM_PATH=1
brew install --formula o/tap/acp-registry
brew list --versions
brew/bin/acp-registry --version
test -f brew/share/man/man1/acp-registry.1
brew uninstall acp-registry
test ! -e brew/bin/acp-registry
"#;

#[cfg(unix)]
#[test]
fn homebrew_installs_the_program() {
    const TEST: &str = "homebrew_installs_the_program";
    if !has("brew", TEST) {
        return;
    }
    if rustix::process::geteuid().is_root() {
        return skipped(TEST, "Homebrew refuses to run as root");
    }
    let Some(env) = made(&[], TEST) else { return };
    let server = release(&env);
    packages(&env, &["homebrew"], &["--repository", &server.url("/o/acp-registry")]);
    let install = || Run::of(Command::new("sh").args(["-c", HOMEBREW]).current_dir(env.path("")));
    let run = install();
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let program = format!("acp-registry {VERSION}");
    assert_eq!(lines.iter().filter(|line| **line == program).count(), 2, "{}", run.stdout);
    let (_, digest) = archive(&env, &platform());
    env.write("packages/acp-registry.rb", env.read("packages/acp-registry.rb").replace(&digest, &"0".repeat(64)));
    fs::remove_dir_all(env.path("brew")).unwrap();
    fs::remove_dir_all(env.path("home")).unwrap();
    let run = install();
    assert!(run.code != 0 && run.stderr.contains("SHA256 mismatch"), "{}{}", run.stdout, run.stderr);
}
