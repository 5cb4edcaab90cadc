class AcpRegistry < Formula
  desc "{description}"
  homepage "{repository}"
  version "{version}"
  license "{license}"

{targets}
  def install
    bin.install "acp-registry"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/acp-registry.bash" => "acp-registry"
    fish_completion.install "completions/acp-registry.fish"
    zsh_completion.install "completions/_acp-registry"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/acp-registry --version")
  end
end
