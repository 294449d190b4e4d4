import { referencedUploads } from './storage/references.ts';
import type { PictureSizes, UploadStore } from './storage/upload-store.ts';
import { copyPath, uploadPath } from './uploads.ts';

const LINK_OR_PICTURE = /<a\b|<\/a>|<img src="[^"]*\/uploads\/([0-9a-f-]{36})\/[^"]*"[^>]*>/gi;

/**
 * For a text that is being written: renews its files until the text is stored. Adds to pictures their width and height,
 * so that the layout does not shift when they load, their smaller copies, and a link to the full file unless they are
 * already inside a link.
 */
export async function showPictures(html: string, store: Pick<UploadStore, 'renew' | 'sizes'>): Promise<string> {
  const named = referencedUploads(html);
  if (named.length === 0) return html;
  await store.renew(named);
  if (!html.includes('<img ')) return html;
  const sizes = await store.sizes(named);
  let linked = false;
  return html.replace(LINK_OR_PICTURE, (found, id: string | undefined) => {
    if (id === undefined) {
      linked = found !== '</a>';
      return found;
    }
    const picture = sizes.get(id.toLowerCase());
    if (!picture) return found;
    const shown = withSizes(found, picture);
    return linked ? shown : `<a class="picture" href="${uploadPath(picture)}">${shown}</a>`;
  });
}

function withSizes(tag: string, picture: PictureSizes): string {
  const { width, height, widths } = picture;
  const all = [...widths.map((one) => `${copyPath(picture, one)} ${one}w`), `${uploadPath(picture)} ${width}w`];
  return tag.replace(
    /^<img /,
    `<img width="${width}" height="${height}"${widths.length > 0 ? ` srcset="${all.join(', ')}"` : ''} `,
  );
}
