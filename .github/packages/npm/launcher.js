#!/usr/bin/env node
// Runs the program of this machine's platform.
'use strict';

const { spawn } = require('node:child_process');
const { version } = require('./package.json');
const { find } = require('./program.js');

// What the program itself exits with if something that it needs is missing.
const MISSING = 3;

function fail(message, help) {
  console.error(`error: ${message}\nhelp: ${help}`);
  process.exit(MISSING);
}

function program() {
  try {
    return find();
  } catch (error) {
    return fail(error.message, error.help);
  }
}

// A terminal sends these to the program as well, which would then get them twice.
const ofTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY) ? ['SIGINT', 'SIGQUIT'] : [];
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2']) {
  process.on(signal, () => ofTerminal.includes(signal) || child.kill(signal));
}

const path = program();
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`${path} cannot be started: ${error.message}`, `npm install --force acp-registry@${version}`));
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
