import { Type } from '../../schema.ts';
import { defineCommand } from '../command.ts';
import { develop } from '../develop.ts';

export const dev = defineCommand({
  name: 'dev',
  summary: 'Runs the site in development: saved changes are live at once, and the browser shows them.',
  example: 'dev --demo',
  options: Type.Object({
    demo: Type.Boolean({ default: false, description: 'Install with demo content if nothing is installed yet' }),
  }),
  run: (_services, options, console) => develop(options, console),
});
