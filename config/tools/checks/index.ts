import { boundTypes } from './bound-types.ts';
import { boundaries } from './boundaries.ts';
import type { Check } from './support/check.ts';
import { dependents } from './dependents.ts';
import { documented } from './documents/documented.ts';
import { exported } from './exports.ts';
import { finished } from './finished.ts';
import { folders } from './folders.ts';
import { format } from './format.ts';
import { glossary } from './documents/glossary.ts';
import { lint } from './lint.ts';
import { names } from './names.ts';
import { plugins } from './plugins.ts';
import { publicInterface } from './documents/public-interface.ts';
import { reference } from './documents/reference.ts';
import { snippets } from './documents/snippets.ts';
import { slots } from './slots.ts';
import { types } from './types.ts';
import { unused } from './unused.ts';
import { vocabulary } from './vocabulary.ts';

/** All checks of `npm run check`; test/architecture.test.ts plants a violation of each. */
export const CHECKS: readonly Check[] = [
  types,
  format,
  lint,
  unused,
  boundaries(),
  dependents,
  reference(),
  snippets,
  vocabulary,
  names,
  glossary,
  finished,
  boundTypes,
  plugins,
  slots,
  documented,
  publicInterface,
  exported,
  folders,
];
