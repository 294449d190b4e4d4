import { InvalidInput, Type, type Static } from 'parley-forum';
import { nullable } from 'parley-forum/plugins/api';
import type { Field } from 'parley-forum/plugins/discussions';
import { Poll } from './api.ts';
import type { PollService } from './service.ts';

const MOST = 10;
const LONGEST = 100;

/** What a program sends, and what the form does: a line for each. */
const Options = Type.Union([
  Type.Array(Type.String({ maxLength: LONGEST }), { maxItems: MOST }),
  Type.String({ maxLength: 2000, description: 'One option on each line' }),
]);

/** `poll` of discussions: what there is, and in the body of a new one the options to choose from. */
export const pollField = (polls: PollService): Field => ({
  name: 'poll',
  result: nullable(Poll),
  loadMany: (ids, viewer) => polls.ofDiscussions(ids, viewer),
  body: Options,
  async save(_em, discussionId, value, viewer) {
    const options = optionsOf(value as Static<typeof Options>);
    if (options.length > 0) await polls.open(discussionId, options, viewer.id!);
  },
});

/** 400 for a poll with nothing to choose from. None at all: no poll. */
function optionsOf(value: Static<typeof Options>): readonly string[] {
  const lines = typeof value === 'string' ? value.split('\n') : value;
  const options = [...new Set(lines.map((line) => line.trim()).filter((line) => line !== ''))];
  const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'poll', message }]);
  if (options.length === 1) throw wrong('must have two options or more');
  if (options.length > MOST) throw wrong(`must have at most ${MOST} options`);
  if (options.some((option) => option.length > LONGEST)) throw wrong(`must have options of at most ${LONGEST} letters`);
  return options;
}
