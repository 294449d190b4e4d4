import {
  Accepted,
  Type,
  type Extension,
  type ExtensionPoint,
  type PluginHandle,
  type Static,
  type TObject,
} from 'parley-forum';
import { nullable, Paging } from 'parley-forum/plugins/api';
import type { Category, Field, HeldPost } from 'parley-forum/plugins/discussions';
import { MAX_POSITION } from './categories/category-service.ts';

/**
 * An object schema with the fields that other plugins add. The fields are looked up on each access, so that OpenAPI
 * reflects the running plugins. They are never required, because their plugin may stop at any time.
 */
export function withFields<S extends TObject>(
  plugin: PluginHandle,
  point: ExtensionPoint<Field>,
  schema: S,
  part: 'result' | 'body' = 'result',
): S {
  let known: readonly Extension<Field>[] | undefined;
  let composed: object = schema.properties;
  const properties = (): object => {
    const now = plugin.extensions(point);
    if (now !== known) {
      // Fields that only imports can store are not accepted in requests.
      const taken = part === 'body' ? now.filter(({ value }) => value.save !== undefined) : now;
      const fields = taken.flatMap(({ value }) => (value[part] ? [[value.name, value[part]] as const] : []));
      [known, composed] = [now, { ...schema.properties, ...Object.fromEntries(fields) }];
    }
    return composed;
  };
  return Object.defineProperty({ ...schema }, 'properties', { enumerable: true, get: properties }) as S;
}

/** The response if a plugin holds the post. */
export const HeldAnswer = Type.Object({
  held: Type.Literal(true),
  held_post: Type.Object(
    { id: Type.String(), url: Type.String() },
    { description: 'It is published once a moderator has approved it; until then its author can see it at `url`' },
  ),
});
export const heldAnswer = ({ id, path }: HeldPost, baseUrl: string): Accepted<Static<typeof HeldAnswer>> =>
  new Accepted({ held: true, held_post: { id, url: baseUrl + path } });

/** A moderator's reason: stored in the moderation log and sent to the author. */
export const ReasonField = Type.Optional(
  Type.String({ maxLength: 500, description: 'The reason, if a moderator changes what others wrote' }),
);

/** The reason readers are given for the lock of a discussion. */
export const LockReasonField = Type.Optional(
  nullable(
    Type.String({
      maxLength: 500,
      description: 'Why it is locked: shown to readers while it is, and recorded in the moderation log',
    }),
  ),
);

export const PostPaging = {
  ...Paging,
  near: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Return the page that contains the post with this number' }),
  ),
};

const Audience = Type.Union(
  [
    Type.String({ minLength: 1, maxLength: 3_300 }),
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 50 }),
  ],
  {
    description: 'everyone, members, staff, or ids of groups: an array, or a string separated by spaces',
  },
);
/** A category as administrators enter it; the form's inputs have the same names. */
export const CategoryBody = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 64 })),
  name: Type.String({ minLength: 1, maxLength: 80 }),
  slug: Type.Optional(Type.String({ maxLength: 80 })),
  description: Type.Optional(Type.String({ maxLength: 500 })),
  parent_id: Type.Optional(nullable(Type.String({ maxLength: 64 }))),
  hue: Type.Optional(Type.Integer({ minimum: 0, maximum: 359 })),
  icon: Type.Optional(Type.String({ maxLength: 40 })),
  position: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_POSITION })),
  view: Type.Optional(Audience),
  create: Type.Optional(Audience),
  reply: Type.Optional(Audience),
});

/** A category as stored, without counts. */
export const plainCategory = ({
  id,
  slug,
  name,
  description,
  parentId,
  hue,
  icon,
  position,
  view,
  create,
  reply,
}: Category) => ({ id, slug, name, description, parent_id: parentId, hue, icon, position, view, create, reply });
