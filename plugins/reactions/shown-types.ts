import type { ReactionType } from 'parley-forum/plugins/reactions';
import type { Web } from 'parley-forum/plugins/web';
import { imageOf } from './emoji-images.ts';

/** A kind of reaction as `sign.hbs` shows it. */
export function shownType(
  web: Pick<Web, 'asset'>,
  type: ReactionType,
): ReactionType & { readonly picture?: string | undefined } {
  const image = imageOf(type.emoji);
  return { ...type, picture: image && web.asset('reactions', image) };
}
