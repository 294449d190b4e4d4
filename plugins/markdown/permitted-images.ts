import { imageSource } from './url-rules.ts';

const IMAGE = /<img\b[^>]*>/gi;
const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`, 'i').exec(tag)?.[1];

/**
 * Rechecks sanitised HTML from before the rules for images: an image that would call a route of this site is replaced
 * by its description, or by its URL. Hosts are not checked: the setting of allowed hosts applies to new texts, and the
 * content security policy has its current value.
 */
export function permittedImages(html: string, origin: string): string {
  return html.replace(IMAGE, (tag) => {
    const url = attribute(tag, 'src') ?? '';
    const plain = url
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&');
    const host = URL.parse(plain)?.host;
    if (imageSource(plain, { origin, imageHosts: host === undefined ? [] : [host] }) !== undefined) return tag;
    return attribute(tag, 'alt') || url;
  });
}
