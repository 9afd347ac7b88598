function [alpha, history] = bdcd_krr(A, y, alpha, blocks, lambda, kernel)
% BDCD_KRR  Block dual coordinate descent for kernel ridge regression.
%
%   [alpha, history] = BDCD_KRR(A, y, alpha, blocks, lambda, kernel) makes
%   one iteration for each row of blocks (indices from 1) on
%   (K / lambda + m I) alpha = y. history(:, k) is alpha after iteration k.
%   A row may hold an index several times: its increments are added.
%
%   Source: Algorithm 3.

  m = numel(y);
  [H, b] = size(blocks);
  history = zeros(m, H);
  for k = 1:H
    block = blocks(k, :);
    U = kernel_panel(A, block, kernel);                   % line 6
    G = U(block, :) / lambda + m * eye(b);                % line 7
    residual = y(block) - m * alpha(block) - U' * alpha / lambda;
    alpha = alpha + accumarray(block(:), G \ residual, [m, 1]);   % lines 8, 9
    history(:, k) = alpha;
  end
end
