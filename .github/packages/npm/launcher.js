#!/usr/bin/env node
// Runs the program, which is in the package of this machine's platform. npm installs that one of the optional dependencies
// whose `os` and `cpu` fit.
'use strict';

const { spawn } = require('node:child_process');
const { optionalDependencies: packages, version } = require('./package.json');

// What the program itself exits with if something that it needs is missing.
const MISSING = 3;

function fail(message, help) {
  console.error(`error: ${message}\nhelp: ${help}`);
  process.exit(MISSING);
}

function find() {
  const name = `@acp-registry/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/${process.platform === 'win32' ? 'acp-registry.exe' : 'acp-registry'}`);
  } catch {
    if (!(name in packages)) {
      const known = Object.keys(packages).join(', ');
      fail(`there is no package ${name}; there are ${known}`, 'build the program from its sources, with Rust');
    }
    return fail(
      `the package ${name} is not installed: npm leaves it out with \`--omit=optional\`, and in a copy of another machine's node_modules it is missing`,
      `npm install --include=optional acp-registry@${version}`,
    );
  }
}

const program = find();

// A terminal sends these to the program as well, which would then get them twice.
const ofTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY) ? ['SIGINT', 'SIGQUIT'] : [];
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2']) {
  process.on(signal, () => ofTerminal.includes(signal) || child.kill(signal));
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`${program} cannot be started: ${error.message}`, `npm install --force acp-registry@${version}`));
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
