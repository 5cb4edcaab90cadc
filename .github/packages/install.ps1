# Installs acp-registry {version} for this user: downloads the archive of this machine, compares its digest with the one in
# this file, and puts the program into ACP_REGISTRY_INSTALL_DIR, else into a directory below LOCALAPPDATA. It needs no
# administrator. ACP_REGISTRY_INSTALL_FROM names a mirror of {address}.

function Install-AcpRegistry {
    $ErrorActionPreference = 'Stop'
    # Its bar makes downloads many times slower.
    $ProgressPreference = 'SilentlyContinue'
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    $digests = ConvertFrom-StringData @'
{digests}
'@
    $from = if ($env:ACP_REGISTRY_INSTALL_FROM) { $env:ACP_REGISTRY_INSTALL_FROM } else { '{address}' }
    $address = [Uri]$from
    if ($address.Scheme -ne 'https' -and -not ($address.Scheme -eq 'http' -and $address.IsLoopback)) {
        throw "$from is not an address that begins with https://"
    }
    # A 32-bit or translated shell has the machine in the second variable.
    $machine = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    $platform = switch ($machine) {
        'AMD64' { 'windows-x86_64' }
        'ARM64' { 'windows-aarch64' }
        default { "windows-$machine" }
    }
    $expected = $digests[$platform]
    if (-not $expected) { throw "there is no archive for $platform; build the program from its sources, with Rust" }

    $folder = $env:ACP_REGISTRY_INSTALL_DIR
    if (-not $folder) { $folder = Join-Path $env:LOCALAPPDATA 'Programs\acp-registry' }
    $new = Join-Path $folder ('.new-' + [Guid]::NewGuid())
    New-Item -ItemType Directory -Force -Path $new | Out-Null
    try {
        $name = "acp-registry-{version}-$platform.zip"
        $archive = Join-Path $new $name
        Invoke-WebRequest -UseBasicParsing -Uri "$from/$name" -OutFile $archive
        $actual = (Get-FileHash -Algorithm SHA256 -LiteralPath $archive).Hash
        if ($actual -ne $expected) { throw "$from/$name has the digest $actual, not $expected; nothing was installed" }
        Expand-Archive -LiteralPath $archive -DestinationPath $new
        $told = & (Join-Path $new 'acp-registry.exe') --version
        if ($LASTEXITCODE -ne 0) { throw 'the program does not start here' }
        Move-Item -Force -LiteralPath (Join-Path $new 'acp-registry.exe') -Destination (Join-Path $folder 'acp-registry.exe')
    } finally {
        Remove-Item -Recurse -Force -LiteralPath $new
    }
    "installed $told as $(Join-Path $folder 'acp-registry.exe')"
    if (($env:PATH -split ';') -notcontains $folder) {
        "$folder is not in PATH; run this, and open a new terminal:"
        "  [Environment]::SetEnvironmentVariable('Path', [Environment]::GetEnvironmentVariable('Path', 'User') + ';$folder', 'User')"
    }
}

# In the last line, so that nothing runs if this file was cut off.
Install-AcpRegistry
