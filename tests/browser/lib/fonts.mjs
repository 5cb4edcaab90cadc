// The fonts that pages are shown in: those of packages, whatever the system has, so that every machine lays out the same.
import fs from 'node:fs';
import path from 'node:path';
import { here, work } from './paths.mjs';

/// Sans-serif families by name, with the package of each: narrow, of middle width, and wide.
const FAMILIES = {
  arimo: ['Arimo', '@expo-google-fonts/arimo'],
  noto: ['Noto Sans', '@expo-google-fonts/noto-sans'],
  dejavu: ['DejaVu Sans', 'dejavu-fonts-ttf'],
};
const MONOSPACE = ['DejaVu Sans Mono', 'dejavu-fonts-ttf'];

export const fonts = Object.keys(FAMILIES);

/// The environment of a browser whose default is this font; else the one that `FONT` names. Fontconfig, which Chromium asks on
/// Linux, knows no other families then.
export const environment = (font = process.env.FONT || 'noto') => {
  if (!FAMILIES[font]) throw new Error(`FONT=${font} is not one of ${fonts.join(', ')}`);
  const [[family, folder], [mono, monoFolder]] = [FAMILIES[font], MONOSPACE];
  const directories = new Set([folder, monoFolder].map((name) => path.join(here, 'node_modules', name)));
  const edit = (mode, name) => `<edit name="family" mode="${mode}" binding="strong"><string>${name}</string></edit>`;
  const parts = [
    ...[...directories].map((name) => `<dir>${name}</dir>`),
    `<match target="pattern">${edit('append', family)}</match>`,
    `<match target="pattern"><test name="family"><string>monospace</string></test>${edit('prepend', mono)}</match>`,
  ];
  const place = path.join(work, 'fonts');
  const file = path.join(place, `${font}.conf`);
  fs.mkdirSync(place, { recursive: true });
  const text = `<?xml version="1.0"?>\n<fontconfig>${parts.join('')}<cachedir>${place}/cache</cachedir></fontconfig>\n`;
  // Test files run at once, and each writes the same.
  fs.writeFileSync(`${file}.${process.pid}`, text);
  fs.renameSync(`${file}.${process.pid}`, file);
  return { ...process.env, FONTCONFIG_FILE: file };
};
