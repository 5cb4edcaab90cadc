// Where things are.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
export const project = path.resolve(here, '../..');
const target = path.resolve(project, process.env.CARGO_TARGET_DIR || 'target');

/// The program under test.
export const program = process.env.ACP_REGISTRY_PROGRAM
  || path.join(target, 'debug', process.platform === 'win32' ? 'acp-registry.exe' : 'acp-registry');

/// Registries and trees that the tests made.
export const work = path.join(target, 'browser');
export const screenshots = path.join(work, 'screenshots');
