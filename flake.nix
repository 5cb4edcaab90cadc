# `nix run` with the address of this repository builds the program from its sources.
{
  description = "Validate, publish and use registries of Agent Client Protocol agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs = { self, nixpkgs }:
    let
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      systems = [ "aarch64-darwin" "aarch64-linux" "x86_64-darwin" "x86_64-linux" ];
      each = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.package.name;
          version = manifest.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" manifest.package.name ];
          # Tests start agents and package managers.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/acp-registry man --out man
            installManPage man/*.1
            for shell in bash fish zsh; do $out/bin/acp-registry completions $shell > completions.$shell; done
            installShellCompletion --cmd acp-registry --bash completions.bash --fish completions.fish --zsh completions.zsh
          '';
          meta = {
            description = manifest.package.description;
            license = pkgs.lib.licenses.asl20;
            mainProgram = manifest.package.name;
          };
        };
      });
    };
}
