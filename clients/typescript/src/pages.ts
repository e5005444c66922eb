/** Lists: iterate over the items, or over `pages()`. */

/** One page of a list. `next_cursor` is null on the last. */
export interface Page<T> {
  results: T[];
  next_cursor?: string | null;
}

/** A list, read page by page as it is iterated over by `for await`. */
export class Pages<T> implements AsyncIterable<T> {
  constructor(private readonly read: (cursor: string | undefined) => Promise<Page<T>>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.results;
  }

  /** The pages, from this cursor on. */
  async *pages(cursor?: string | null): AsyncGenerator<Page<T>, void, undefined> {
    let next = cursor ?? undefined;
    do {
      const page = await this.read(next);
      yield page;
      next = page.next_cursor ?? undefined;
    } while (next !== undefined);
  }

  /** All items; of a long list iterate instead. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
