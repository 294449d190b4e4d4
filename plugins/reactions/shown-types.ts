import type { ReactionType } from 'parley-forum/plugins/reactions';
import { phrase, type Web } from 'parley-forum/plugins/web';
import { imageOf } from './emoji-images.ts';
import { hasFirstLabel } from './reaction-types.ts';

/**
 * A reaction type as `sign.hbs` shows it; a default type that was never renamed has its label in the reader's language.
 */
export function shownType(
  web: Pick<Web, 'asset' | 'say'>,
  type: ReactionType,
): ReactionType & { readonly picture?: string | undefined } {
  const image = imageOf(type.emoji);
  const label = hasFirstLabel(type) ? web.say(phrase(`reactions:type.${type.slug}`)) : type.label;
  return { ...type, label, picture: image && web.asset('reactions', image) };
}
