import type { Check } from './support/check.ts';
import { runTool } from './support/command.ts';

/** Every file must be formatted by oxfmt with the options in .oxfmtrc.json. */
export const format: Check = {
  name: 'format',
  async run(root) {
    const { code, output, errors } = await runTool('oxfmt/bin/oxfmt', ['--list-different', '.'], root);
    if (code === 0) return [];
    const files = output.split('\n').filter((line) => line !== '');
    return files.length > 0
      ? files.map((file) => `${file}: is not formatted; run npm run format`)
      : [`oxfmt ended with code ${code}: ${errors.trim()}`];
  },
};
