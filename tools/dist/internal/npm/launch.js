#!/usr/bin/env node
// Starts the program of this name from the package of the platform, with the same arguments, streams and exit code.
'use strict';
const { spawn } = require('node:child_process');
const path = require('node:path');

const name = path.basename(__filename, '.js');
const own = require('../package.json');
const platform = `${own.name}-${process.platform}-${process.arch}`;

function fail(text) {
  process.stderr.write(`${name}: ${text}\n`);
  process.exit(1);
}

let program;
try {
  program = require.resolve(`${platform}/bin/${name}${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  fail((own.optionalDependencies || {})[platform]
    ? `the package ${platform} is missing: install again without --omit=optional, on this machine`
    : `there is no build for ${process.platform} on ${process.arch}: build it from source`);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal signals both; a supervisor signals this process alone.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on('error', (e) => fail(`cannot start ${program}: ${e.message}`));
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  for (const s of signals) process.removeAllListeners(s);
  process.kill(process.pid, signal);
});
