// The system's Chromium.
import fs from 'node:fs';
import path from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/// The path of the browser: `CHROMIUM`, or the first known name on PATH. `undefined` without one.
export const chromium = () => {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH || '').split(path.delimiter);
  for (const name of NAMES) for (const folder of folders) {
    const file = path.join(folder, name);
    if (fs.existsSync(file)) return file;
  }
  return undefined;
};

export const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
];
