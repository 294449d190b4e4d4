import { describe, expect, test } from 'vitest';
import { defineCommand, Type } from 'parley-forum';
import { parseCall } from '../../core/cli/parse.ts';

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
  test('accepts options by name and by position, converted to their schema types', () => {
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

  test('applies defaults, and unsets a flag with --no', () => {
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

  test('accepts a value that looks like an option after --', () => {
    expect(options('boat', 'paint', '--paint-maker', 'Anna', '--', '--tern')).toMatchObject({ boat: '--tern' });
  });

  test.each([
    [['boat', 'pant', 'tern'], "unknown command 'boat pant' (Did you mean boat paint?). See: npm run parley -- --help"],
    [['lanch'], "unknown command 'lanch' (Did you mean launch?). See: npm run parley -- --help"],
    [['bot', 'paint', 'tern'], "unknown command 'bot paint' (Did you mean boat paint?)"],
    [['zzz', '--help'], "unknown command 'zzz'. See: npm run parley -- --help"],
    [['--tern'], "unknown option '--tern'. See: npm run parley -- --help"],
    [['boat', 'paint', 'tern', 'blue', '--paint-maker', 'Anna'], 'Allowed choices are red, green. See:'],
    [
      ['boat', 'paint', 'tern', '--paint-maker', '--coats', '2'],
      '--paint-maker has no value; write --paint-maker=VALUE',
    ],
    [['zzz'], "unknown command 'zzz'. See: npm run parley -- --help"],
    [
      ['boat', 'paint', '--paint-maker', 'Anna'],
      "missing required argument 'boat'. See: npm run parley -- boat paint --help",
    ],
    [['boat', 'paint', 'tern'], '--paint-maker is required. See: npm run parley -- boat paint --help'],
    [
      ['boat', 'paint', 'tern', '--cots', '2'],
      "unknown option '--cots' (Did you mean --coats?). See: npm run parley -- boat paint --help",
    ],
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
      /^too many arguments for 'boat paint'.* got 3: tern, red, dinghy. See: npm run parley -- boat paint --help$/,
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
        [
          'The yard',
          '  boat paint <boat> [colour]  Paints a boat.',
          '',
          'The slip',
          '  launch                      Lets it go.',
        ].join('\n'),
      );
    }
  });

  test('prints the version', () => {
    for (const word of ['-V', '--version']) expect(help(word)).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('for a first word lists the commands that start with it', () => {
    expect(help('boat')).toContain('boat paint');
    expect(help('boat', '--help')).not.toContain('launch');
  });

  test('for one command shows its usage and describes each option', () => {
    for (const words of [
      ['boat', 'paint', '--help'],
      ['help', 'boat', 'paint'],
    ]) {
      expect(help(...words)).toBe(
        [
          'Usage: npm run parley -- boat paint [options] <boat> [colour]',
          '',
          'Paints a boat.',
          '',
          'Arguments:',
          '  boat                   Which one',
          '  colour                 (choices: "red", "green")',
          '',
          'Options:',
          '  --coats <n>            How often (default: 1)',
          '  --wet-sand',
          '  --tool <tool>',
          '  --paint-maker <maker>  Whose paint (required)',
          '  -h, --help             display help for command',
          '',
          'Example: npm run parley -- boat paint tern --coats 2',
        ].join('\n'),
      );
    }
  });
});
