import { Type, type Static, type TSchema } from 'parley-forum';
import { slugOf, Time } from 'parley-forum/plugins/api';

/** The key of a record in the file: any name or number from the system it comes from. */
const Key = Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Integer()]);
export type Key = Static<typeof Key>;
/** Normalises a key: a number and the same number as text are the same key. */
export const keyOf = (key: Key): string => String(key);

const Member = Type.Object({
  kind: Type.Literal('member'),
  id: Key,
  username: Type.String({
    pattern: '\\S',
    maxLength: 100,
    description: 'Adapted if it is not allowed or not available here',
  }),
  email: Type.String({ format: 'email', maxLength: 254 }),
  name: Type.Optional(
    Type.String({ maxLength: 50, description: 'Display name; whatever is not allowed here is left out' }),
  ),
  bio: Type.Optional(Type.String({ maxLength: 1_000 })),
  joined_at: Type.Optional(Time),
});
const Category = Type.Object({
  kind: Type.Literal('category'),
  id: Key,
  name: Type.String({ pattern: '\\S', maxLength: 80 }),
  slug: Type.Optional(
    Type.String({ maxLength: 80, description: 'An existing category with this slug is used as it is' }),
  ),
  description: Type.Optional(Type.String({ maxLength: 500 })),
  parent: Type.Optional(Key),
  view: Type.Optional(Type.Enum(['everyone', 'members', 'staff'])),
  answers: Type.Optional(Type.Boolean({ description: 'Its discussions ask for an answer' })),
});
const Post = Type.Object({
  author: Key,
  content: Type.String({ pattern: '\\S', description: 'Markdown' }),
  created_at: Time,
  reply_to: Type.Optional(Type.Integer({ minimum: 1, description: 'Position of the post that it replies to, from 1' })),
  likes: Type.Optional(Type.Array(Key, { maxItems: 10_000, description: 'Members who liked it' })),
  accepted: Type.Optional(Type.Boolean({ description: 'It is the accepted answer' })),
});
const Discussion = Type.Object({
  kind: Type.Literal('discussion'),
  id: Key,
  title: Type.String({ pattern: '\\S', maxLength: 200 }),
  category: Key,
  tags: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 30 }), { maxItems: 20 })),
  views: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_000_000_000 })),
  pinned: Type.Optional(Type.Boolean()),
  locked: Type.Optional(Type.Boolean()),
  posts: Type.Array(Post, { minItems: 1, description: 'In chronological order' }),
});

export type Member = Static<typeof Member>;
export type Category = Static<typeof Category>;
export type Discussion = Static<typeof Discussion>;
export type Line = Member | Category | Discussion;

/** The slug by which a category is looked up here. */
export const slugOfCategory = ({ slug, name }: Pick<Category, 'slug' | 'name'>): string =>
  slugOf(slug ?? name, 'category');

/** The schema of each kind of line. */
export const RECORDS: Readonly<Record<Line['kind'], TSchema>> = {
  member: Member,
  category: Category,
  discussion: Discussion,
};
