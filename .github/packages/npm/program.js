// Finds the program, which is in the package of this machine's platform. npm installs that one of the optional dependencies
// whose `os` and `cpu` fit.
'use strict';

const { optionalDependencies: packages, version } = require('./package.json');

/** Why the program is not found, and what helps. */
class MissingProgram extends Error {
  constructor(message, help) {
    super(message);
    this.name = 'MissingProgram';
    this.help = help;
  }
}

/** The path of the program. */
exports.find = () => {
  const name = `@acp-registry/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/${process.platform === 'win32' ? 'acp-registry.exe' : 'acp-registry'}`);
  } catch {
    if (!(name in packages)) {
      const known = Object.keys(packages).join(', ');
      throw new MissingProgram(`there is no package ${name}; there are ${known}`, 'build the program from its sources, with Rust');
    }
    throw new MissingProgram(
      `the package ${name} is not installed: npm leaves it out with \`--omit=optional\`, and in a copy of another machine's node_modules it is missing`,
      `npm install --include=optional acp-registry@${version}`,
    );
  }
};
