import { Type } from '../../schema.ts';
import { defineCommand } from '../command.ts';
import { develop } from '../develop.ts';

export const dev = defineCommand({
  name: 'dev',
  summary: 'Runs the site while you write: what you save is live at once, and the browser shows it.',
  example: 'dev --demo',
  options: Type.Object({
    demo: Type.Boolean({ default: false, description: 'Install with lifelike content where nothing is installed yet' }),
  }),
  run: (_services, options, console) => develop(options, console),
});
