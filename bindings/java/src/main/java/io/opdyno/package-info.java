/**
 * Runs compiled tensor programs and shows where their time goes. Parameters and results that may be null are {@code
 * Nullable}.
 */
@NullMarked
package io.opdyno;

import org.jspecify.annotations.NullMarked;
