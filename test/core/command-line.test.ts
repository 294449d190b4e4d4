import { describe, expect, test } from 'vitest';
import { defineCommand, Type } from 'parley-forum';
import { parseCall } from '../../core/cli/parse.ts';
import { suggest } from '../../core/cli/suggest.ts';

const paint = defineCommand({
  name: 'boat paint',
  summary: 'Paints a boat.',
  example: 'boat paint tern --coats 2',
  positional: ['boat', 'colour'],
  options: Type.Object({
    boat: Type.String({ description: 'Which one' }),
    colour: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('green')])),
    coats: Type.Integer({ default: 1, minimum: 1, description: 'How often' }),
    'wet-sand': Type.Boolean({ default: false }),
    tool: Type.Optional(Type.Array(Type.String())),
    'paint-maker': Type.String({ description: 'Whose paint' }),
  }),
  run: () => undefined,
});
const launch = defineCommand({
  name: 'launch',
  summary: 'Lets it go.',
  options: Type.Object({}),
  run: () => undefined,
});
const entries = [
  { command: paint, owner: 'The yard' },
  { command: launch, owner: 'The slip' },
];

const read = (...words: string[]) => parseCall(entries, words);
const options = (...words: string[]) => {
  const call = read(...words);
  return 'options' in call ? call.options : undefined;
};
const help = (...words: string[]): string => {
  const call = read(...words);
  return 'help' in call ? call.help : '';
};

describe('a command line', () => {
  test('gives options by name and by position, as the types the schema says', () => {
    expect(
      options(
        'boat',
        'paint',
        'tern',
        'red',
        '--coats',
        '3',
        '--wet-sand',
        '--tool',
        'brush',
        '--tool=roller',
        '--paint-maker',
        'Anna',
      ),
    ).toEqual({
      boat: 'tern',
      colour: 'red',
      coats: 3,
      'wet-sand': true,
      tool: ['brush', 'roller'],
      'paint-maker': 'Anna',
    });
  });

  test('fills in defaults, and takes a flag back with --no', () => {
    expect(options('boat', 'paint', 'tern', '--paint-maker=Anna')).toEqual({
      boat: 'tern',
      coats: 1,
      'wet-sand': false,
      'paint-maker': 'Anna',
    });
    expect(options('boat', 'paint', 'tern', '--paint-maker=Anna', '--no-wet-sand')).toMatchObject({
      'wet-sand': false,
    });
  });

  test('takes a value that looks like an option after --', () => {
    expect(options('boat', 'paint', '--paint-maker', 'Anna', '--', '--tern')).toMatchObject({ boat: '--tern' });
  });

  test.each([
    [['boat', 'pant', 'tern'], 'There is no command "boat pant"; did you mean "boat paint"?'],
    [['lanch'], 'There is no command "lanch"; did you mean "launch"?'],
    [['zzz'], 'There is no command "zzz"; see them all with: npm run parley -- --help'],
    [['boat', 'paint', '--paint-maker', 'Anna'], 'BOAT is required. See: npm run parley -- boat paint --help'],
    [['boat', 'paint', 'tern'], '--paint-maker is required. See: npm run parley -- boat paint --help'],
    [['boat', 'paint', 'tern', '--cots', '2'], '"boat paint" has no option --cots; did you mean --coats?'],
    [
      ['boat', 'paint', 'tern', '--coats', 'two', '--paint-maker', 'Anna'],
      '--coats must be integer. See: npm run parley -- boat paint --help',
    ],
    [
      ['boat', 'paint', 'tern', '--coats', '0', '--paint-maker', 'Anna'],
      '--coats must be >= 1. See: npm run parley -- boat paint --help',
    ],
    [
      ['boat', 'paint', 'tern', 'red', 'dinghy', '--paint-maker', 'Anna'],
      '"dinghy" is one word too many for "boat paint". See: npm run parley -- boat paint --help',
    ],
  ])('%j is refused in one line that says what to write', (words, message) => {
    expect(() => read(...words)).toThrow(message);
  });

  test('an option without its value is refused in one line', () => {
    expect(() => read('boat', 'paint', 'tern', '--coats')).toThrow(
      /--coats.*See: npm run parley -- boat paint --help$/,
    );
  });
});

describe('help', () => {
  test('lists every command under its owner', () => {
    for (const words of [[], ['--help'], ['-h'], ['help']]) {
      expect(help(...words)).toContain(
        'The yard\n  boat paint BOAT [red|green]  Paints a boat.\n\nThe slip\n  launch  Lets it go.',
      );
    }
  });

  test('of a first word lists what begins with it', () => {
    expect(help('boat')).toContain('boat paint');
    expect(help('boat', '--help')).not.toContain('launch');
  });

  test('of one command says how it is written and what each option means', () => {
    for (const words of [
      ['boat', 'paint', '--help'],
      ['help', 'boat', 'paint'],
    ]) {
      expect(help(...words)).toBe(
        [
          'Paints a boat.',
          '',
          'Usage: npm run parley -- boat paint BOAT [red|green] --paint-maker MAKER [OPTIONS]',
          '',
          '  BOAT                 Which one (required)',
          '  red|green',
          '  --coats N            How often (default: 1)',
          '  --wet-sand',
          '  --tool TOOL',
          '  --paint-maker MAKER  Whose paint (required)',
          '',
          'Example: npm run parley -- boat paint tern --coats 2',
        ].join('\n'),
      );
    }
  });
});

test('a slip of the fingers is understood, another word is not', () => {
  expect(suggest('sede', ['seed', 'demo'])).toBe('seed');
  expect(suggest('instal', ['install', 'uninstall'])).toBe('install');
  expect(suggest('banana', ['install', 'seed'])).toBeUndefined();
});
