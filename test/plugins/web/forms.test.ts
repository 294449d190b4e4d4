import { describe, expect, it } from 'vitest';
import { Type } from 'parley-forum';
import { parseForm } from '../../../plugins/protection/form.ts';
import { formModel } from '../../../plugins/web/forms/form-model.ts';

const texts = { secretSet: 'set', problem: 'Look at the fields', declared: (text: string) => text };

describe('a form body', () => {
  it('may contain objects and lists', () => {
    expect(parseForm('a[b]=1&a[c]=2&tags[]=x&tags[]=y&r=1&r=2&items[1][n]=b&items[0][n]=a')).toEqual({
      a: { b: '1', c: '2' },
      tags: ['x', 'y'],
      r: ['1', '2'],
      items: [{ n: 'a' }, { n: 'b' }],
    });
  });
  it('keeps dots in names, as in settings', () => expect(parseForm('site.name=x')).toEqual({ 'site.name': 'x' }));
  it('can represent an empty list', () => expect(parseForm('tags[]=&r=&r=1')).toEqual({ tags: [], r: ['1'] }));
  it('cannot reach prototypes', () => {
    for (const key of [
      '__proto__[x]',
      'a[constructor]',
      'prototype',
      '%5F_proto__',
      'a[b][__proto__]',
      'a%5Bconstructor%5D[prototype]',
    ])
      expect(() => parseForm(`${key}=1`)).toThrow(/not a field name/);
  });
  it('has a limited depth and number of fields', () => {
    expect(() => parseForm('a[b][c][d][e][f]=1')).toThrow(/a field name with more than/);
    expect(() => parseForm('a[501]=1')).toThrow(/500 entries/);
    expect(() => parseForm('a[]=1&'.repeat(501))).toThrow(/500 entries/);
    expect(() => parseForm(Array.from({ length: 1001 }, (_, index) => `f${index}=1`).join('&'))).toThrow(/1000 fields/);
  });
});

describe('a form made from a schema', () => {
  const schema = Type.Object({
    'site.name': Type.String({ title: 'Name', maxLength: 60 }),
    about: Type.String({ maxLength: 2000 }),
    page_size: Type.Integer({ minimum: 0, maximum: 100, default: 20 }),
    sender: Type.String({ pattern: '^[a-z]+@[a-z]+$', maxLength: 254 }),
    word: Type.String({ pattern: '^[a-z0-9-]+$' }),
    open: Type.Boolean(),
    few: Type.Enum(['a', 'b']),
    many: Type.Union(['a', 'b', 'c', 'd', 'e', 'f'].map((value) => Type.Literal(value))),
    proxies: Type.Array(Type.String(), { 'x-group': 'security' }),
    key: Type.String({ 'x-secret': true, 'x-group': 'security' }),
    rules: Type.Object({}),
  });
  const model = formModel(
    schema,
    { key: 'very secret', open: true, proxies: ['10.0.0.0/8'] },
    [{ field: 'proxies.0', message: 'is no address' }],
    texts,
  );
  const field = (name: string) => model.groups.flatMap(({ fields }) => fields).find((own) => own.name === name);

  it('chooses a control for each value', () => {
    const kinds = model.groups.flatMap(({ fields }) => fields).map(({ name, kind }) => [name, kind]);
    expect(Object.fromEntries(kinds)).toMatchObject({
      'site.name': 'input',
      about: 'textarea',
      sender: 'input',
      page_size: 'input',
      open: 'switch',
      few: 'choices',
      many: 'select',
      proxies: 'list',
      rules: 'textarea',
    });
  });
  it('labels a field without a title by its key', () => expect(field('page_size')?.label).toBe('Page size'));
  it('shows defaults, and keeps a minimum of zero', () =>
    expect(field('page_size')).toMatchObject({ value: 20, hasMin: true, min: 0, step: 1 }));
  it('includes only patterns that browsers support', () => {
    expect([field('sender')?.['pattern'], field('word')?.['pattern']]).toEqual(['^[a-z]+@[a-z]+$', undefined]);
  });
  it('never shows a secret', () => {
    expect(JSON.stringify(model)).not.toContain('very secret');
    expect(field('key')).toMatchObject({ type: 'password', value: '', help: 'set' });
  });
  it('groups fields together', () =>
    expect(model.groups.map(({ title, fields }) => [title, fields.length])).toEqual([
      [undefined, 9],
      ['Security', 2],
    ]));
  it('matches the checkboxes of a list with its errors', () => {
    const days = Type.Object({ days: Type.Array(Type.Enum(['monday', 'friday'])) });
    const [group] = formModel(days, { days: [] }, [{ field: 'days', message: 'has none' }], texts).groups;
    expect(group?.fields).toMatchObject([{ name: 'days[]', field: 'days', problem: 'has none' }]);
  });
  it('shows an error inside a list at the list', () => {
    expect(field('proxies')?.['problem']).toBe('is no address');
    expect(model).toMatchObject({ message: 'Look at the fields', problems: [{ field: 'proxies', label: 'Proxies' }] });
  });
});
